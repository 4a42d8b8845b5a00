import { assertEquals } from "@std/assert";
import { Client } from "../rpc/client.ts";
import { Tree } from "./tree.ts";

/** A tree of a daemon with these directories. */
function treeOf(directories: Record<string, unknown[]>) {
  const client = new Client({ connect: () => Promise.reject(new Error("nobody is asked here")) });
  const asked: string[] = [];
  client.ask = ((_: string, { path }: { path: string }) => {
    asked.push(path);
    const entries = directories[path];
    if (entries === undefined) return Promise.reject(new Error(`${path}: does not exist`));
    return Promise.resolve({ entries, total: entries.length, truncated: path === "many" });
  }) as unknown as Client["ask"];
  return { tree: new Tree(client, "sess_1"), asked };
}

const shown = (tree: Tree) =>
  tree.rows().map(({ level, name, kind, open, note, position, siblings }) =>
    `${"  ".repeat(level - 1)}${note ?? name} ${kind}${open ? " open" : ""} ${position}/${siblings}`
  );

Deno.test("directories are asked for when they are opened", async () => {
  const { tree, asked } = treeOf({
    ".": [{ name: "src", kind: "directory" }, { name: "a.txt", kind: "file" }],
    src: [{ name: "b.ts", kind: "file" }],
  });
  assertEquals([tree.loaded, asked], [false, []]);
  await tree.load("");
  assertEquals(shown(tree), ["src directory 1/2", "a.txt file 2/2"]);
  tree.toggle("src", true);
  assertEquals(shown(tree)[1], "  Loading… nowhere 1/1");
  await tree.load("src");
  assertEquals(shown(tree), ["src directory open 1/2", "  b.ts file 1/1", "a.txt file 2/2"]);
  tree.toggle("src", false);
  assertEquals(shown(tree).length, 2);
});

Deno.test("links that lead nowhere, empty, missing and very large directories say so", async () => {
  const { tree } = treeOf({
    ".": [
      { name: "gone", kind: "directory" },
      { name: "many", kind: "directory" },
      { name: "none", kind: "directory" },
      { name: "link", kind: "symlink", leads_to: "directory" },
      { name: "out", kind: "symlink" },
      { name: "pipe", kind: "other" },
    ],
    many: [{ name: "a", kind: "file" }],
    none: [],
  });
  await tree.load("");
  for (const path of ["gone", "many", "none"]) {
    tree.toggle(path, true);
    await tree.load(path);
  }
  assertEquals(shown(tree), [
    "gone directory open 1/6",
    "  gone: does not exist nowhere 1/1",
    "many directory open 2/6",
    "  a file 1/2",
    "  More entries are not shown nowhere 2/2",
    "none directory open 3/6",
    "  Empty nowhere 1/1",
    "link directory 4/6",
    "out nowhere 5/6",
    "pipe nowhere 6/6",
  ]);
});

Deno.test("a file is revealed by opening all above it", async () => {
  const { tree } = treeOf({
    ".": [{ name: "a", kind: "directory" }],
    a: [{ name: "b", kind: "directory" }],
    "a/b": [{ name: "c.ts", kind: "file" }],
  });
  await tree.load("");
  tree.reveal("a/b/c.ts");
  await Promise.all([tree.load("a"), tree.load("a/b")]);
  assertEquals(shown(tree).at(-1), "    c.ts file 1/1");
});
