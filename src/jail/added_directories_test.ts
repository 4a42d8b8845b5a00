import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import type { AddedRoot } from "./added_directories.ts";
import { detectSandbox } from "./sandbox.ts";
import { spawnArgv } from "./spawn.ts";

const runs = granted("run", "write", "env", "net", "sys");
const jail = runs ? await detectSandbox("auto") : undefined;

Deno.test({
  name: "a command uses added directories as they were added, under the rules of the workdir",
  ignore: jail?.kind !== "bubblewrap",
  async fn() {
    const top = await Deno.realPath(await Deno.makeTempDir({ prefix: "added" }));
    const place = (path: string) => join(top, path);
    const write = (path: string, text: string) => {
      Deno.mkdirSync(place(path.slice(0, path.lastIndexOf("/"))), { recursive: true });
      Deno.writeTextFileSync(place(path), text);
    };
    write("work/own.txt", "own");
    write("lib/a.txt", "a");
    write("lib/.envrc", "as before");
    write("lib/.git/HEAD", "ref: refs/heads/main");
    write("lib/.git/config", "as before");
    write("lib/.svc/journal", "secret");
    write("docs/a.txt", "a");
    write("secret.txt", "secret");
    Deno.symlinkSync(place("secret.txt"), place("lib/link"));
    Deno.symlinkSync(place("docs"), place("work/docs"));
    const lib: AddedRoot = { path: place("lib"), access: "write", hidden: [place("lib/.svc")] };
    const docs: AddedRoot = { path: place("docs"), access: "read", hidden: [] };
    const run = async (command: string, added: AddedRoot[]) => {
      const scope = { workdir: place("work"), hidden: [], network: false, added };
      const argv = jail!.argv(command, scope);
      const options = { cwd: "/", stdin: "null", stdout: "piped", stderr: "piped" } as const;
      const done = await spawnArgv(argv, options).output();
      const text = new TextDecoder().decode(done.stdout) + new TextDecoder().decode(done.stderr);
      return { code: done.code, text };
    };
    try {
      const at = (path: string) => `'${place(path)}'`;
      assertEquals((await run(`cat ${at("lib/a.txt")}`, [])).code, 1);
      const ran = await run(`echo b > ${at("lib/b.txt")} && cat ${at("docs/a.txt")}`, [lib, docs]);
      assertEquals(ran, { code: 0, text: "a" });
      assertEquals(Deno.readTextFileSync(place("lib/b.txt")), "b\n");
      for (
        const refused of [
          `echo x > ${at("docs/a.txt")}`,
          `echo x > docs/a.txt`,
          `rm ${at("docs/a.txt")}`,
          `echo x > ${at("lib/.envrc")}`,
          `echo x > ${at("lib/.git/config")}`,
          `mkdir -p ${at("lib/.git/hooks")} && echo x > ${at("lib/.git/hooks/pre-commit")}`,
        ]
      ) {
        const { code, text } = await run(refused, [lib, docs]);
        assertEquals(code !== 0, true, refused);
        assertMatch(text, /read-only file system/i);
      }
      for (const unseen of ["lib/.svc/journal", "lib/link", "secret.txt"]) {
        const { code, text } = await run(`cat ${at(unseen)}`, [lib, docs]);
        assertEquals([code, text.includes("No such file")], [1, true], unseen);
      }
      // The same writes reach the files where the directory is added for writing: the probe works.
      const control = { ...docs, access: "write" } as const;
      assertEquals((await run(`echo x > ${at("docs/a.txt")}`, [control])).code, 0);
      assertStringIncludes(Deno.readTextFileSync(place("docs/a.txt")), "x");
      assertEquals(Deno.readTextFileSync(place("lib/.envrc")), "as before");
    } finally {
      await Deno.remove(top, { recursive: true });
    }
  },
});
