/** What the names of a source stand for, as far as its text tells. */

export type Node = Deno.lint.Node;

/** A text that is known, or how it begins. */
export interface Text {
  text: string;
  /** Whether that is all of it. */
  exact: boolean;
}

/** What an expression gives. */
export type Part =
  /** The global object. */
  | { kind: "global" }
  /** `Deno`, or a module that has to do with paths and processes. */
  | { kind: "module"; name: string }
  /** A member of such a module. */
  | { kind: "member"; of: string; name: string };

/** Where a name comes from. */
export type Binding =
  | { kind: "import"; source: string; imported: string }
  /** Of the value of `init`, what the path of keys leads to; undefined where that is not known. */
  | { kind: "value"; init: Node; keys: readonly Text[] | undefined }
  | { kind: "function" }
  | { kind: "other" };

/** More of these than any source has: a name that is defined by itself must come to an end. */
const DEPTH_MAX = 20;

/** The expression itself, without assertions of types, chains and what a comma leaves behind. */
export function unwrapped(node: Node): Node {
  switch (node.type) {
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSNonNullExpression":
    case "TSTypeAssertion":
    case "ChainExpression":
      return unwrapped(node.expression);
    case "SequenceExpression":
      return unwrapped(node.expressions.at(-1)!);
    case "AwaitExpression":
      return unwrapped(node.argument);
    default:
      return node;
  }
}

/** The text that an expression gives. */
export function staticText(node: Node, depth = 0): Text | undefined {
  if (depth > DEPTH_MAX) return undefined;
  const inner = unwrapped(node);
  switch (inner.type) {
    case "Literal":
      return typeof inner.value === "string" ? { text: inner.value, exact: true } : undefined;
    case "TaggedTemplateExpression":
      return staticText(inner.quasi, depth + 1);
    case "TemplateLiteral": {
      const [first] = inner.quasis;
      const exact = inner.expressions.length === 0;
      return { text: first?.cooked ?? "", exact };
    }
    case "BinaryExpression": {
      if (inner.operator !== "+") return undefined;
      const left = staticText(inner.left, depth + 1);
      if (left === undefined || !left.exact) return left;
      const right = staticText(inner.right, depth + 1);
      return { text: left.text + (right?.text ?? ""), exact: right?.exact ?? false };
    }
    case "Identifier": {
      const binding = bindingOf(inner);
      if (binding?.kind !== "value" || binding.keys?.length !== 0) return undefined;
      return staticText(binding.init, depth + 1);
    }
    default:
      return undefined;
  }
}

/** What an expression, or the pattern that takes its value, stands for. */
export function partOf(node: Node, depth = 0): Part | undefined {
  if (depth > DEPTH_MAX) return undefined;
  const inner = unwrapped(node);
  switch (inner.type) {
    case "Identifier": {
      const binding = bindingOf(inner);
      if (binding === undefined) return globalPart(inner.name);
      return partOfBinding(binding, depth);
    }
    case "MemberExpression": {
      const object = partOf(inner.object, depth + 1);
      const key = inner.computed ? staticText(inner.property) : keyOf(inner.property);
      return object && key?.exact ? memberOf(object, key.text) : undefined;
    }
    case "LogicalExpression":
      return partOf(inner.left, depth + 1) ?? partOf(inner.right, depth + 1);
    case "ConditionalExpression":
      return partOf(inner.consequent, depth + 1) ?? partOf(inner.alternate, depth + 1);
    case "AssignmentExpression":
      return partOf(inner.right, depth + 1);
    case "ImportExpression":
      return moduleOf(staticText(inner.source)?.text ?? "");
    case "CallExpression":
      return partOfCall(inner, depth);
    case "ObjectPattern": {
      const binding = bindingOfPattern(inner);
      return binding && partOfBinding(binding, depth);
    }
    default:
      return undefined;
  }
}

function partOfBinding(binding: Binding, depth: number): Part | undefined {
  if (binding.kind === "import") {
    const module = moduleOf(binding.source);
    if (module === undefined) return undefined;
    return ["*", "default"].includes(binding.imported)
      ? module
      : memberOf(module, binding.imported);
  }
  if (binding.kind !== "value" || binding.keys === undefined) return undefined;
  let part = partOf(binding.init, depth + 1);
  for (const key of binding.keys) {
    part = part && key.exact ? memberOf(part, key.text) : undefined;
  }
  return part;
}

/** `require("path")`, `createRequire(…)("path")`, `process.getBuiltinModule("path")`, `f.bind(…)`. */
function partOfCall(call: Deno.lint.CallExpression, depth: number): Part | undefined {
  const callee = unwrapped(call.callee);
  if (callee.type === "MemberExpression" && keyOf(callee.property)?.text === "bind") {
    return partOf(callee.object, depth + 1);
  }
  const [first] = call.arguments;
  return first === undefined ? undefined : moduleOf(staticText(first)?.text ?? "");
}

function globalPart(name: string): Part | undefined {
  if (/^(globalThis|window|self|global)$/.test(name)) return { kind: "global" };
  if (name === "Deno" || name === "process") return { kind: "module", name };
  return undefined;
}

function memberOf(part: Part, name: string): Part | undefined {
  if (part.kind === "global") {
    const found = globalPart(name);
    return found;
  }
  if (part.kind === "member") return undefined;
  const same = name === "default" || (part.name === "path" && /^(posix|win32)$/.test(name)) ||
    (part.name === "fs" && name === "promises");
  return same ? part : { kind: "member", of: part.name, name };
}

/** The module that a specifier names, as far as it has to do with paths and processes. */
function moduleOf(source: string): Part | undefined {
  const name = /^(?:node:)?(process|path|fs|url)(?:\/|$)/.exec(source)?.[1] ??
    (/(?:^|[/:])(?:@std|std(?:@[^/]*)?|deno-std(?:@[^/]*)?)\/path(?:[/.@]|$)/.test(source)
      ? "path"
      : undefined);
  return name === undefined ? undefined : { kind: "module", name };
}

// ── where a name comes from ────────────────────────────────────────────────────────────────────

/** The declaration that an identifier refers to; undefined for a global. */
export function bindingOf(identifier: Deno.lint.Identifier): Binding | undefined {
  const { name } = identifier;
  for (let at: Node | undefined = identifier.parent; at; at = parentOf(at)) {
    const binding = declaredBy(at, name);
    if (binding !== undefined) return binding;
  }
  return undefined;
}

function parentOf(node: Node): Node | undefined {
  return (node as { parent?: Node }).parent;
}

/** What the pattern of a declaration takes its value from. */
function bindingOfPattern(pattern: Deno.lint.ObjectPattern): Binding | undefined {
  const keys: Text[] = [];
  for (let at: Node = pattern;;) {
    const { parent } = at as { parent: Node };
    if (parent.type === "VariableDeclarator") {
      return parent.init ? { kind: "value", init: parent.init, keys } : undefined;
    }
    if (parent.type === "AssignmentExpression" && parent.left === at) {
      return { kind: "value", init: parent.right, keys };
    }
    if (parent.type === "AssignmentPattern" && parent.left === at) {
      // The default of a parameter; where the value itself is known, that comes first.
      const outer = parent.parent as Node;
      if (isFunction(outer)) return { kind: "value", init: parent.right, keys };
      at = parent;
      continue;
    }
    if (parent.type === "Property") {
      const key = parent.computed ? staticText(parent.key) : keyOf(parent.key);
      keys.unshift(key ?? { text: "", exact: false });
      at = parent.parent as Node;
      continue;
    }
    const given = isFunction(parent) ? promisedTo(parent) : undefined;
    return given === undefined ? undefined : { kind: "value", init: given, keys };
  }
}

function declaredBy(scope: Node, name: string): Binding | undefined {
  if (isFunction(scope)) {
    for (const param of scope.params) {
      const found = inPattern(param as Node, name, []);
      if (found === undefined) continue;
      if (param.type === "AssignmentPattern" && found.keys?.length === 0) {
        return { kind: "value", init: param.right, keys: [] };
      }
      const given = promisedTo(scope);
      return given ? { kind: "value", init: given, keys: found.keys } : { kind: "other" };
    }
    return undefined;
  }
  if (scope.type === "Program" || scope.type === "BlockStatement" || scope.type === "StaticBlock") {
    return declaredIn(scope.body, name);
  }
  if (scope.type === "SwitchCase") return declaredIn(scope.consequent, name);
  if (scope.type === "ForStatement" && scope.init) return declaredIn([scope.init], name);
  if (scope.type === "ForOfStatement" || scope.type === "ForInStatement") {
    return declaredIn([scope.left], name) && { kind: "other" };
  }
  if (scope.type === "CatchClause" && scope.param) {
    return inPattern(scope.param, name, []) && { kind: "other" };
  }
  return undefined;
}

function declaredIn(statements: readonly Node[], name: string): Binding | undefined {
  for (const statement of statements) {
    const declaration = statement.type === "ExportNamedDeclaration" && statement.declaration
      ? statement.declaration
      : statement;
    const found = declares(declaration, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function declares(node: Node, name: string): Binding | undefined {
  if (node.type === "ImportDeclaration") {
    const specifier = node.specifiers.find(({ local }) => local.name === name);
    if (specifier === undefined) return undefined;
    const imported = specifier.type === "ImportSpecifier"
      ? keyOf(specifier.imported)?.text ?? ""
      : specifier.type === "ImportDefaultSpecifier"
      ? "default"
      : "*";
    return { kind: "import", source: node.source.value, imported };
  }
  if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") {
    return node.id?.name === name ? { kind: "function" } : undefined;
  }
  if (node.type !== "VariableDeclaration") return undefined;
  for (const { id, init } of node.declarations) {
    const found = inPattern(id, name, []);
    if (found === undefined) continue;
    if (!init) return { kind: "other" };
    const own = found.keys?.length === 0 && isFunction(unwrapped(init));
    return own ? { kind: "function" } : { kind: "value", init, keys: found.keys };
  }
  return undefined;
}

/** Whether a pattern declares a name, and by which keys its value is found. */
function inPattern(
  node: Node,
  name: string,
  keys: readonly Text[] | undefined,
): { keys: readonly Text[] | undefined } | undefined {
  switch (node.type) {
    case "Identifier":
      return node.name === name ? { keys } : undefined;
    case "AssignmentPattern":
      return inPattern(node.left, name, keys);
    case "RestElement":
      // The rest of an object is read like the object itself.
      return inPattern(node.argument, name, keys);
    case "ArrayPattern":
      return first(node.elements, (it) => it ? inPattern(it, name, undefined) : undefined);
    case "ObjectPattern":
      return first(node.properties, (property) => {
        if (property.type !== "Property") return inPattern(property, name, keys);
        const found = inPattern(property.value, name, []);
        if (found === undefined) return undefined;
        const key = property.computed ? computedKey(property.key) : keyOf(property.key);
        return { keys: keys && key && found.keys && [...keys, key, ...found.keys] };
      });
    default:
      return undefined;
  }
}

/** The keys whose text is being looked for: `{ [a]: b, [b]: a }` would never come to an end. */
const computing = new Set<Node>();

function computedKey(key: Node): Text | undefined {
  if (computing.has(key)) return undefined;
  computing.add(key);
  try {
    return staticText(key);
  } finally {
    computing.delete(key);
  }
}

/** What a function is given that is handed to `then` of something known. */
function promisedTo(fn: Node): Node | undefined {
  const call = parentOf(fn);
  if (call?.type !== "CallExpression" || call.arguments[0] !== fn) return undefined;
  const { callee } = call;
  const is_then = callee.type === "MemberExpression" && keyOf(callee.property)?.text === "then";
  return is_then ? callee.object : undefined;
}

type FunctionNode =
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression;

function isFunction(node: Node): node is FunctionNode {
  return node.type === "FunctionDeclaration" || node.type === "FunctionExpression" ||
    node.type === "ArrowFunctionExpression";
}

function keyOf(node: Node): Text | undefined {
  if (node.type === "Identifier") return { text: node.name, exact: true };
  return node.type === "Literal" ? { text: String(node.value), exact: true } : undefined;
}

function first<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
