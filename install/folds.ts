/**
 * Checks that what happens in a session is folded in `src/session` alone:
 *
 *   deno run --allow-read --allow-env install/folds.ts
 *
 * A fold tells {@linkcode KINDS_MIN} or more kinds of events apart in one function, or in one table:
 * by `case "turn.started"`, by a comparison with `"turn.started"`, or by keys of an object with these
 * names. A function that waits for one kind, or reacts to two, is an observer and may stand anywhere.
 * To satisfy it, use `session/view.ts` (for people), `session/state.ts` (for the daemon) or
 * `session/transcript.ts` (for models), or put the fold beside them. Where a table is no fold,
 * `// fold-ok: <reason>` on the line above the function or the table says why; a comment that is no
 * longer needed is refused as well.
 */
import ts from "typescript";
import { dirname, fromFileUrl, join, relative } from "@std/path";
import { walk } from "@std/fs";

const KINDS_MIN = 3;
/** Where folds belong, and where events are defined. */
const HOME = /^src\/(?:session|protocol)\//;
const EXCEPTION = /^\s*\/\/ fold-ok: \S/;

/** The kinds of events, as `src/protocol/event_data.ts` defines them. */
export function kindsIn(event_data: string): Set<string> {
  return new Set([...event_data.matchAll(/^ {2}"([a-z_]+\.[a-z_]+)":/gm)].map(([, kind]) => kind));
}

/** Returns what is wrong in a file, a line each. @param file its path in the checkout */
export function foldsIn(file: string, text: string, kinds: ReadonlySet<string>): string[] {
  if (HOME.test(file)) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lines = text.split("\n");
  const lineOf = (node: ts.Node) =>
    source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
  const found: string[] = [];
  const used = new Set<number>();
  /** The kinds that each function or table tells apart. */
  const apart = new Map<ts.Node, Set<string>>();
  const note = (node: ts.Node, literal: ts.Node) => {
    if (!ts.isStringLiteral(literal) || !kinds.has(literal.text)) return;
    const place = ts.findAncestor(node.parent, isPlace) ?? source;
    apart.set(place, (apart.get(place) ?? new Set()).add(literal.text));
  };
  const visit = (node: ts.Node) => {
    if (ts.isCaseClause(node)) note(node, node.expression);
    if (ts.isBinaryExpression(node) && COMPARISONS.has(node.operatorToken.kind)) {
      note(node, node.left);
      note(node, node.right);
    }
    if ((ts.isPropertyAssignment(node) || ts.isMethodDeclaration(node)) && node.name) {
      note(node, node.name);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const [place, told] of apart) {
    if (told.size < KINDS_MIN) continue;
    const line = lineOf(place);
    if (EXCEPTION.test(lines[line - 2] ?? "")) used.add(line - 1);
    else {
      found.push(
        `${file}:${line}: tells ${told.size} kinds of events apart (${[...told].join(", ")})`,
      );
    }
  }
  lines.forEach((text, n) => {
    if (EXCEPTION.test(text) && !used.has(n + 1)) {
      found.push(`${file}:${n + 1}: a needless fold-ok`);
    }
  });
  return found;
}

const COMPARISONS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
]);

/** A function with a name, or a statement at the top of a module. */
function isPlace(node: ts.Node): boolean {
  return ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) ||
    ts.isGetAccessor(node) || ts.isConstructorDeclaration(node) ||
    (ts.isVariableStatement(node) && ts.isSourceFile(node.parent));
}

/** @throws {Error} that names each fold outside of `src/session` */
export async function requireOneFold(root: string): Promise<void> {
  const kinds = kindsIn(await Deno.readTextFile(join(root, "src/protocol/event_data.ts")));
  const found: string[] = [];
  for (const top of ["src", "web/src"]) {
    for await (const { path } of walk(join(root, top), { exts: [".ts", ".tsx"] })) {
      if (/_test\.tsx?$|\/testdata\//.test(path)) continue;
      found.push(...foldsIn(relative(root, path), await Deno.readTextFile(path), kinds));
    }
  }
  if (found.length === 0) return;
  throw new Error(
    `events are folded outside of src/session:\n${found.sort().join("\n")}\n` +
      "hint: use src/session/view.ts, state.ts or transcript.ts; see install/folds.ts",
  );
}

if (import.meta.main) {
  try {
    await requireOneFold(dirname(dirname(fromFileUrl(import.meta.url))));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  }
}
