import { assert, assertEquals, assertRejects, fail } from "@std/assert";
import { dirname, fromFileUrl, join } from "@std/path";
import { PARTS, withPart } from "../install/docs.ts";
import { KEPT, KEPT_DIR } from "./web/screenshots_album.ts";
import { promiseRows, PROMISES, RECORD, recorded, testsOf } from "./attack/promises.ts";

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
  const broken: string[] = [];
  for (const page of pages()) {
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

/** The most pictures that the repository has, and the most bytes of one: each clone fetches them. */
const PICTURES_MAX = 12;
const PICTURE_BYTES_MAX = 150_000;

Deno.test("pages show the pictures that `deno task screenshots` keeps; they are few and small", () => {
  const shown = pages().flatMap((page) => {
    const text = Deno.readTextFileSync(join(root, page));
    return [...text.matchAll(/!\[[^\]]*\]\(([^)]+\.png)\)|<img src="([^"]+\.png)"/g)]
      .map(([, markdown, html]) => join(dirname(page), markdown ?? html));
  });
  const kept = KEPT.map((name) => join(KEPT_DIR, `${name}.png`)).sort();
  assertEquals([...new Set(shown)].sort(), kept);
  const there = [...Deno.readDirSync(join(root, KEPT_DIR))].map(({ name }) => join(KEPT_DIR, name));
  assertEquals(there.sort(), kept);
  assert(kept.length <= PICTURES_MAX, `${kept.length} pictures`);
  for (const path of kept) {
    const { size } = Deno.statSync(join(root, path));
    assert(size < PICTURE_BYTES_MAX, `${path} has ${size} bytes`);
  }
});

/** The pages for people, from the root of the repository. */
function pages(): string[] {
  return ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...markdown("docs")]
    .filter((page) => exists(join(root, page)));
}

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

Deno.test("each test that the threat model names is there, ran, and held in the recorded run", () => {
  const page = Deno.readTextFileSync(RECORD);
  const rows = promiseRows(Deno.readTextFileSync(PROMISES));
  assert(rows.length > 25, `${rows.length} promises`);
  for (const row of rows) {
    const tests = testsOf(row);
    assert(tests.length > 0, `a promise without a test: ${row}`);
    for (const it of tests) {
      const source = Deno.readTextFileSync(join(root, it.file));
      assert(/\b(test|attack|attacksBy|row|by\w+)\(/.test(source), `${it.file} has no tests`);
      const where = `${it.file}: "${it.part}"`;
      for (const part of it.part.split("…")) assert(source.includes(part), where);
      const { attempts, succeeded } = recorded(page, it) ??
        fail(
          `${where} is not in the recorded run; \`sh install/dev.sh attack --record\` makes one`,
        );
      assert(
        attempts > 0 && succeeded === 0,
        `${where}: ${attempts} tried, ${succeeded} succeeded`,
      );
    }
  }
});
