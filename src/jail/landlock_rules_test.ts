import { assert, assertEquals } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { bindByDescriptor } from "./binder.ts";
import { rightsOf } from "./landlock.ts";
import { aloneRules, landlockRules } from "./landlock_rules.ts";

const ignore = !granted("ffi", "read", "write") || Deno.build.os !== "linux";
const ABI = 6;

/** A machine in a directory, with these files. */
function machine(...files: string[]) {
  const root = Deno.realPathSync(Deno.makeTempDirSync());
  for (const file of files) {
    const path = `${root}/${file}`;
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    if (!file.endsWith("/")) Deno.writeTextFileSync(path, "");
  }
  const binder = bindByDescriptor()!;
  return {
    root,
    binder,
    /** The rules of a scope by path below the machine, as the words for their rights. */
    rules(scope: { workdir: string; hidden?: string[]; own?: string[]; read_only?: boolean }) {
      const { workdir, hidden = [], own = [], read_only } = scope;
      const at = (path: string) => `${root}/${path}`;
      const found = landlockRules(
        { workdir: at(workdir), hidden: hidden.map(at), network: false, read_only },
        {
          abi: ABI,
          root: () => ({ system: [at("usr")] }),
          parts: [],
          programs: [at("home/.cargo/bin")],
          personal: [at("home"), at("usr/people")],
          own: own.map(at),
          binder,
        },
        {
          writable: [at("tmp")],
          readable: [],
          git: undefined,
          granted: { there: [], sockets: [], devices: [], system: [] },
        },
      );
      const words = new Map(
        (["look", "read", "run", "write"] as const).flatMap((allowed) =>
          (["directory", "file"] as const).map((kind) =>
            [rightsOf(allowed, kind, ABI), allowed] as const
          )
        ),
      );
      return Object.fromEntries(
        found.filter(({ path }) => path.startsWith(root))
          .map(({ path, rights }) => [path.slice(root.length + 1), words.get(rights)]),
      );
    },
    [Symbol.dispose]() {
      binder[Symbol.dispose]();
      Deno.removeSync(root, { recursive: true });
    },
  };
}

Deno.test({ name: "a command writes its directory and reads the system", ignore }, () => {
  using it = machine("usr/bin/x", "home/work/", "home/.cargo/bin/x", "home/.ssh/id", "tmp/");
  assertEquals(it.rules({ workdir: "home/work" }), {
    "usr/bin": "run",
    "home/.cargo/bin": "run",
    tmp: "write",
    "home/work": "write",
  });
  assertEquals(it.rules({ workdir: "home/work", read_only: true })["home/work"], "run");
});

Deno.test({ name: "what is hidden in a shown directory leaves the rest of it", ignore }, () => {
  using it = machine(
    "usr/bin/x",
    "usr/lib/a/b",
    "usr/lib/c",
    "usr/people/me",
    "home/work/",
    "tmp/",
  );
  Deno.symlinkSync(`${it.root}/usr/people`, `${it.root}/usr/link`);
  const rules = it.rules({ workdir: "home/work", hidden: ["usr/lib/a"] });
  assertEquals(rules["usr/bin"], "run");
  assertEquals(rules["usr/lib/c"], "run");
  for (const path of ["usr", "usr/lib", "usr/lib/a", "usr/people", "usr/link"]) {
    assertEquals(rules[path], undefined, path);
  }
});

Deno.test({ name: "a directory around svc's own files leaves them out", ignore }, () => {
  using it = machine("home/.svc/daemon.json", "home/work/x", "home/file", "usr/", "tmp/");
  const rules = it.rules({ workdir: "home", own: ["home/.svc"] });
  assertEquals(rules["home"], "look");
  assertEquals(rules["home/work"], "write");
  assertEquals(rules["home/file"], "write");
  assertEquals(rules["home/.svc"], undefined);
  // Work that svc keeps among its own files.
  assertEquals(it.rules({ workdir: "home/.svc", own: ["home"] })["home/.svc"], "write");
});

Deno.test({ name: "a program alone sees only what it is given", ignore }, () => {
  using it = machine("store/objects/x", "tree/file", "tree/.svc/journal");
  const found = aloneRules([
    { path: `${it.root}/store`, writable: true },
    { path: `${it.root}/tree`, hidden: [`${it.root}/tree/.svc`] },
  ], { abi: ABI, binder: it.binder });
  const own = found.filter(({ path }) => path.startsWith(it.root))
    .map(({ path, required }) => [path.slice(it.root.length + 1), required]);
  assertEquals(own, [["store", true], ["tree/file", false], ["tree", true]]);
  assert(!found.some(({ path }) => path === "/etc" || path === "/home"));
});
