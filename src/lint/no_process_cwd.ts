/**
 * Lint rule `svc/no-process-cwd`: the process working directory is neither read nor changed
 * (product.md, Session). Every session works in its own directory; one that leaned on the process's
 * would work in another's. A line `// cwd-ok: <reason>` above a call lets it through.
 *
 * Names are followed to what they stand for (imports, aliases, destructuring, computed members), so
 * a call is found whatever it is called. What is known only at run time is not judged, except a
 * computed member of `Deno` or `process`. A program that is started without a `cwd` has the process's
 * one.
 */
import {
  bindingOf,
  type Node,
  type Part,
  partOf,
  staticText,
  type Text,
  unwrapped,
} from "./names.ts";

const READERS = new Set(["cwd", "chdir"]);
/** Calls that make their paths absolute by the working directory, and which arguments are paths. */
const RESOLVERS: ReadonlyMap<string, "one absolute" | "first" | "all"> = new Map([
  ["resolve", "one absolute"],
  ["relative", "all"],
  ["toNamespacedPath", "first"],
  ["realPath", "first"],
  ["realPathSync", "first"],
  ["realpath", "first"],
  ["realpathSync", "first"],
  ["pathToFileURL", "first"],
]);
/** What has them; any other object has a `resolve` of its own. */
const RESOLVER_MODULES = new Set(["path", "fs", "url", "Deno"]);
const ANNOTATION = /\/\/\s*cwd-ok:\s*\S/;
/** Directives that would silence this rule without a reason. */
const SILENCED = /^\s*deno-lint-ignore(-file\s*$|.*\bsvc\/no-process-cwd\b)/;

/** Programs of tests work in no session's directory. */
const TESTS = /_test\.ts$|[/\\](tests|bench)[/\\]/;

const MESSAGE = "the process working directory belongs to no session";
const HINT = "use the session's workdir, or write `// cwd-ok: <reason>` on the line above";

const rule: Deno.lint.Rule = {
  create(context) {
    const { text } = context.sourceCode;
    const lines = text.split("\n");
    const reported = new Set<number>();
    const report = (node: Node) => {
      const [start] = node.range;
      const line = text.slice(0, start).split("\n").length;
      if (reported.has(start) || ANNOTATION.test(lines[line - 2] ?? "")) return;
      reported.add(start);
      context.report({ node, message: MESSAGE, hint: HINT });
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (SILENCED.test(comment.value)) {
            context.report({ range: comment.range, message: MESSAGE, hint: HINT });
          }
        }
      },
      MemberExpression(node) {
        const object = partOf(node.object);
        if (!isProcess(object)) return;
        const key = node.computed ? staticText(node.property) : exactly(node.property);
        if (key === undefined || !key.exact || READERS.has(key.text)) report(node);
      },
      ObjectPattern(node) {
        if (!isProcess(partOf(node))) return;
        for (const property of node.properties) {
          if (property.type !== "Property") continue;
          const key = property.computed ? staticText(property.key) : exactly(property.key);
          if (key === undefined || !key.exact || READERS.has(key.text)) report(property);
        }
      },
      ImportSpecifier(node) {
        const { source } = node.parent as Deno.lint.ImportDeclaration;
        if (moduleIs(source.value, "process") && READERS.has(nameOf(node.imported))) report(node);
      },
      ExportNamedDeclaration(node) {
        if (node.source === null || !moduleIs(node.source.value, "process")) return;
        if (node.specifiers.some((it) => READERS.has(nameOf(it.local)))) report(node);
      },
      ExportAllDeclaration(node) {
        if (moduleIs(node.source.value, "process")) report(node);
      },
      NewExpression(node) {
        if (TESTS.test(context.filename)) return;
        if (isCommand(node.callee) && leavesCwd(node.arguments[1])) report(node);
      },
      CallExpression(node) {
        const callee = unwrapped(node.callee);
        // Whatever it is a member of: `x.cwd()` of ours would be called another name.
        if (READERS.has(calledName(callee))) return report(node);
        if (callee.type === "MemberExpression" && readsByName(node.arguments)) return report(node);
        const { called, args } = applied(callee, node.arguments);
        const name = resolverName(called);
        const kind = name === undefined ? undefined : RESOLVERS.get(name);
        if (kind !== undefined && args !== undefined && usesCwd(kind, args)) report(node);
      },
    };
  },
};

function isProcess(part: Part | undefined): boolean {
  return part?.kind === "module" && (part.name === "Deno" || part.name === "process");
}

/** `Deno.Command`, by whatever name. */
function isCommand(callee: Node): boolean {
  const part = partOf(callee);
  return part?.kind === "member" && part.of === "Deno" && part.name === "Command";
}

/** Whether a program with these options starts in the working directory of this process. */
function leavesCwd(options: Node | undefined): boolean {
  if (options === undefined) return true;
  const given = unwrapped(options);
  if (given.type !== "ObjectExpression") return false;
  return !given.properties.some((property) =>
    property.type === "SpreadElement" || property.computed || nameOf(property.key) === "cwd"
  );
}

function moduleIs(source: unknown, name: string): boolean {
  return new RegExp(`^(node:)?${name}$`).test(String(source));
}

function calledName(callee: Node): string {
  if (callee.type === "Identifier") {
    const binding = bindingOf(callee);
    // A function of this file with such a name is its own.
    return binding?.kind === "function" ? "" : callee.name;
  }
  if (callee.type !== "MemberExpression") return "";
  const key = callee.computed ? staticText(callee.property) : exactly(callee.property);
  return key?.exact ? key.text : "";
}

/** `Reflect.get(Deno, "cwd")` and its like: the object and the name as arguments. */
function readsByName(args: readonly Node[]): boolean {
  return args.some((arg) => isProcess(partOf(arg))) &&
    args.some((arg) => READERS.has(staticText(arg)?.text ?? ""));
}

/** What `f(…)`, `f.call(this, …)`, `f.apply(this, […])` and `Reflect.apply(f, this, […])` call. */
function applied(callee: Node, args: readonly Node[]): { called: Node; args?: readonly Node[] } {
  if (callee.type !== "MemberExpression" || callee.computed) return { called: callee, args };
  const how = nameOf(callee.property);
  if (how === "call") return { called: unwrapped(callee.object), args: args.slice(1) };
  if (how !== "apply") return { called: callee, args };
  const reflected = nameOf(callee.object) === "Reflect";
  const called = reflected && args[0] ? unwrapped(args[0]) : unwrapped(callee.object);
  const list = args[reflected ? 2 : 1];
  return { called, args: list?.type === "ArrayExpression" ? elementsOf(list) : undefined };
}

/** The resolver that an expression is; undefined when it is another function. */
function resolverName(callee: Node): string | undefined {
  const part = partOf(callee);
  if (part?.kind === "member") return RESOLVER_MODULES.has(part.of) ? part.name : undefined;
  // Declared nowhere, or imported from a module of ours that passes it on.
  if (callee.type === "Identifier") {
    const binding = bindingOf(callee);
    if (binding === undefined) return callee.name;
    return binding.kind === "import" ? binding.imported : undefined;
  }
  if (callee.type !== "MemberExpression") return undefined;
  const key = callee.computed ? staticText(callee.property) : exactly(callee.property);
  const named = /^(path|posix|win32|fs)$/.test(lastName(callee.object));
  return named && key?.exact ? key.text : undefined;
}

/** Whether a call with these arguments leans on the working directory, as far as they are known. */
function usesCwd(kind: "one absolute" | "first" | "all", args: readonly Node[]): boolean {
  const paths = args.flatMap((arg): readonly Node[] =>
    arg.type === "SpreadElement" && arg.argument.type === "ArrayExpression"
      ? elementsOf(arg.argument)
      : [arg]
  );
  if (kind === "first") return paths.length > 0 && isRelative(paths[0]);
  if (kind === "all") return paths.some(isRelative);
  if (paths.some((path) => isAbsolute(staticText(path)))) return false;
  return paths.length === 0 || isRelative(paths[0]);
}

function elementsOf({ elements }: Deno.lint.ArrayExpression): readonly Node[] {
  return elements.filter((it) => it !== null);
}

/** Whether a path is relative, or may be by its own words: `dir ?? ""` is. */
function isRelative(node: Node): boolean {
  const inner = unwrapped(node);
  if (inner.type === "LogicalExpression") return isRelative(inner.left) || isRelative(inner.right);
  if (inner.type === "ConditionalExpression") {
    return isRelative(inner.consequent) || isRelative(inner.alternate);
  }
  const text = staticText(inner);
  if (text === undefined || (text.text === "" && !text.exact)) return false;
  return !isAbsolute(text);
}

function isAbsolute(text: Text | undefined): boolean {
  return text !== undefined && /^([/\\]|[A-Za-z]:|file:)/.test(text.text);
}

function exactly(node: Node): Text | undefined {
  const text = nameOf(node);
  return text === "" ? undefined : { text, exact: true };
}

function nameOf(node: Node): string {
  if (node.type === "Identifier") return node.name;
  return node.type === "Literal" ? String(node.value) : "";
}

/** The name of an identifier, or of the member that an expression ends with. */
function lastName(node: Node): string {
  return node.type === "MemberExpression" ? lastName(node.property) : nameOf(node);
}

const plugin: Deno.lint.Plugin = { name: "svc", rules: { "no-process-cwd": rule } };
export default plugin;
