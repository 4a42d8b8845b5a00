import { assertEquals } from "@std/assert";
import { directoriesFor } from "./directories.ts";

const TREE: Record<string, string[]> = {
  "/home/me": ["Work", "music"],
  "/home/me/Work": ["api", "app"],
  "/home/": ["me"],
};

function list(path = "/home/me", hidden = false) {
  const names = [...TREE[path.replace(/(.)\/$/, "$1")] ?? TREE[path], ...(hidden ? [".cfg"] : [])];
  const real = path.replace(/(.)\/$/, "$1");
  const directories = names.map((name) => ({ name, path: `${real}/${name}`, repository: false }));
  return Promise.resolve({ path: real, directories, truncated: false });
}

const offered = async (query: string, recent: string[] = []) =>
  (await directoriesFor(query, recent, list)).map(({ value, goes_on }) => goes_on ?? `= ${value}`);

Deno.test("recent directories come first, then those where the daemon begins", async () => {
  const recent = ["/home/me/Work", "/srv/site"];
  assertEquals(await offered("", recent), ["= /home/me/Work", "= /srv/site", "/home/me/music/"]);
  assertEquals(await offered("site", recent), ["= /srv/site"]);
});

Deno.test("a path is completed whatever its case; hidden directories by their dot", async () => {
  assertEquals(await offered("/home/me/w"), ["/home/me/Work/"]);
  assertEquals(await offered("/home/me/Work/"), [
    "= /home/me/Work",
    "/home/me/Work/api/",
    "/home/me/Work/app/",
  ]);
  assertEquals(await offered("/home/me/Work/api"), ["= /home/me/Work/api"]);
  assertEquals(await offered("/home/me/.c"), ["/home/me/.cfg/"]);
  assertEquals(await offered("/home/me/x"), []);
});
