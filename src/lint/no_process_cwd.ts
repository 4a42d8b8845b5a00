/**
 * Lint rule `svc/no-process-cwd`: the process working directory is neither read nor changed
 * (product.md, Session). Every session works in its own directory; one that leaned on the process's
 * would work in another's. A line `// cwd-ok: <reason>` above a call lets it through.
 */

const OBJECTS = new Set(["Deno", "process"]);
const READERS = new Set(["cwd", "chdir"]);
/** Calls that make their path absolute by the working directory when it is empty or relative. */
const RESOLVERS = new Set(["resolve", "realPath", "realPathSync", "realpath", "realpathSync"]);
/** Whose methods those are; other objects have a `resolve` of their own. */
const RESOLVER_OBJECTS = new Set(["path", "posix", "win32", "fs", "Deno"]);
const ANNOTATION = /\/\/\s*cwd-ok:\s*\S/;

const MESSAGE = "the process working directory belongs to no session";
const HINT = "use the session's workdir, or write `// cwd-ok: <reason>` on the line above";

const rule: Deno.lint.Rule = {
  create(context) {
    const lines = context.sourceCode.text.split("\n");
    const report = (node: Deno.lint.Node) => {
      const line = context.sourceCode.text.slice(0, node.range[0]).split("\n").length;
      if (ANNOTATION.test(lines[line - 2] ?? "")) return;
      context.report({ node, message: MESSAGE, hint: HINT });
    };
    return {
      MemberExpression(node) {
        if (READERS.has(nameOf(node.property)) && OBJECTS.has(nameOf(node.object))) report(node);
      },
      VariableDeclarator(node) {
        if (node.id.type !== "ObjectPattern" || !node.init || !OBJECTS.has(nameOf(node.init))) {
          return;
        }
        for (const property of node.id.properties) {
          if (property.type === "Property" && READERS.has(nameOf(property.key))) report(property);
        }
      },
      ImportDeclaration(node) {
        if (!/^(node:)?process$/.test(String(node.source.value))) return;
        for (const specifier of node.specifiers) {
          if (specifier.type === "ImportSpecifier" && READERS.has(nameOf(specifier.imported))) {
            report(specifier);
          }
        }
      },
      CallExpression(node) {
        const { callee } = node;
        if (!RESOLVERS.has(nameOf(callee))) return;
        if (callee.type === "MemberExpression" && !RESOLVER_OBJECTS.has(nameOf(callee.object))) {
          return;
        }
        const [first] = node.arguments;
        const relative = first?.type === "Literal" && typeof first.value === "string" &&
          !/^([/\\]|[A-Za-z]:)/.test(first.value);
        if (relative) report(node);
      },
    };
  },
};

/** The name an identifier, a string, or the last part of a member expression stands for. */
function nameOf(node: Deno.lint.Node): string {
  if (node.type === "Identifier") return node.name;
  if (node.type === "Literal") return String(node.value);
  if (node.type === "MemberExpression") return nameOf(node.property);
  return "";
}

const plugin: Deno.lint.Plugin = { name: "svc", rules: { "no-process-cwd": rule } };
export default plugin;
