import { assert, assertEquals, assertRejects } from "@std/assert";
import { dirname, fromFileUrl, join } from "@std/path";
import { PARTS, withPart } from "../install/docs.ts";

const root = fromFileUrl(new URL("..", import.meta.url));

for (const part of PARTS) {
  Deno.test(`docs: ${part.name} are current; \`deno task docs\` updates them`, async () => {
    const text = Deno.readTextFileSync(part.file);
    assertEquals(text, await withPart(text, part));
  });
}

Deno.test("a page without the marks of a part is refused", async () => {
  await assertRejects(() => withPart("# svc", PARTS[0]), Error, "lacks <!-- verbs -->");
});

Deno.test("README.md is at most 10 KB", () => {
  assert(Deno.statSync(join(root, "README.md")).size <= 10_240);
});

Deno.test("every link of README.md and docs leads to a file and a heading that exist", () => {
  const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...markdown("docs")]
    .filter((page) => exists(join(root, page)));
  const broken: string[] = [];
  for (const page of pages) {
    const text = Deno.readTextFileSync(join(root, page)).replaceAll(/```[\s\S]*?```/g, "");
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path, anchor] = target.split("#");
      const file = path === "" ? join(root, page) : join(root, dirname(page), path);
      const found = exists(file) && (anchor === undefined || headings(file).includes(anchor));
      if (!found) broken.push(`${page}: ${target}`);
    }
  }
  assertEquals(broken, []);
});

function markdown(dir: string): string[] {
  return [...Deno.readDirSync(join(root, dir))].flatMap(({ name, isDirectory }) =>
    isDirectory ? markdown(join(dir, name)) : name.endsWith(".md") ? [join(dir, name)] : []
  );
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The anchors of a page's headings, as code hosts make them. */
function headings(path: string): string[] {
  return [...Deno.readTextFileSync(path).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
  );
}

Deno.test("each test that the threat model names is there", () => {
  const url = new URL("../docs/threat-model.md", import.meta.url);
  const text = Deno.readTextFileSync(url);
  const rows = text.split("\n").filter((line) =>
    line.startsWith("|") && !/^\| (promise|---)/.test(line)
  );
  assert(rows.length > 25, `${rows.length} promises`);
  for (const row of rows) {
    const named = [...row.matchAll(/\]\((\.\.\/[^)]+_test\.ts)\)(?:: "([^"]+)")?/g)];
    assert(named.length > 0, `a promise without a test: ${row}`);
    for (const [, path, name = ""] of named) {
      const source = Deno.readTextFileSync(new URL(path, url));
      assert(/\b(test|attack|attacksBy|row|by\w+)\(/.test(source), `${path} has no tests`);
      // An ellipsis stands for what differs between the tests of a table.
      for (const part of name.split("…")) assert(source.includes(part), `${path}: "${name}"`);
    }
  }
});
