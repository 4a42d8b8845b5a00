import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { bindByPath } from "./binder.ts";
import { seatbelt } from "./sandbox_seatbelt.ts";
import { quoted, seatbeltProfile, type SeatbeltScope } from "./seatbelt.ts";

const WORK = "/Users/ada/work";

function profile(more: Partial<SeatbeltScope> = {}): string {
  return seatbeltProfile({
    readable: ["/Users/ada/.cargo/bin"],
    writable: [WORK, "/private/var/folders/x/T"],
    locked: [`${WORK}/.git/hooks`, `${WORK}/.git/config`],
    hidden: [`${WORK}/.svc`],
    network: false,
    ...more,
  });
}

/** The rules of a profile, each with its filters. */
function rulesOf(text: string): { what: string; filters: string[] }[] {
  return text.trim().split(/\n(?=\()/).map((each) => {
    const [head, ...filters] = each.replace(/\)$/, "").split("\n").map((line) => line.trim());
    return { what: head.replace(/^\(/, ""), filters };
  });
}

Deno.test("a path of any characters stays one text", () => {
  assertEquals(quoted("/a b"), '"/a b"');
  assertEquals(quoted('/a"b'), '"/a\\"b"');
  assertEquals(quoted("/a\\"), '"/a\\\\"');
  assertEquals(quoted('/a\\"'), '"/a\\\\\\""');
  assertEquals(quoted("/a\nb\tc\rd"), '"/a\\nb\\tc\\rd"');
  assertEquals(quoted("/é"), '"/é"');
  // What would end the text and begin a rule of its own.
  const hostile = '/work")) (allow default) (deny (literal "';
  const text = profile({ writable: [hostile], locked: [], hidden: [] });
  assertStringIncludes(text, `(subpath ${quoted(hostile)})`);
  assertEquals(text.split("\n").filter((line) => line.startsWith("(allow default")), []);
  // Parentheses outside of texts are balanced at the end of each rule.
  for (const rule of text.trim().split(/\n(?=\()/)) {
    const bare = rule.replaceAll(/"(?:\\.|[^"\\])*"/g, "");
    assertEquals(bare.split("(").length, bare.split(")").length, rule);
  }
});

Deno.test("what is denied comes after what is allowed around it", () => {
  const rules = rulesOf(profile());
  assertEquals(rules.slice(0, 2).map(({ what }) => what), ["version 1", "deny default"]);
  const at = (what: string, path: string) =>
    rules.findIndex((rule) =>
      rule.what === what && rule.filters.some((it) => it.includes(`"${path}"`))
    );
  const write = at("allow file-read* file-write* file-map-executable", WORK);
  assert(write > 1);
  assert(at("deny file-write*", `${WORK}/.git/hooks`) > write);
  assert(at("deny file-write*", `${WORK}/.git/config`) > write);
  assert(at("deny file-read* file-write*", `${WORK}/.svc`) > write);
  const system = at("allow file-read* file-map-executable", "/Library");
  assert(at("deny file-read*", "/Library/Keychains") > system);
});

Deno.test("what is locked cannot be moved away with a directory above it", () => {
  const rule = rulesOf(profile()).find(({ what }) => what === "deny file-write-unlink")!;
  assertEquals(rule.filters, [`(literal "${WORK}/.git")`, `(literal "${WORK}")`]);
  const other = rulesOf(profile({ locked: [], hidden: [] }));
  assertEquals(other.filter(({ what }) => what.startsWith("deny file-write")), []);
});

Deno.test("the network is off, or the internet without sockets of other programs", () => {
  const off = profile();
  assertStringIncludes(off, "(deny network*)");
  assert(!off.includes("trustd"));
  const on = profile({ network: true });
  assert(!on.includes("(allow network*)"));
  assertStringIncludes(on, '(allow network-outbound (remote ip "*:*"))');
  assertStringIncludes(on, "com.apple.trustd.agent");
  // A rule without a filter would allow it for everything.
  for (const text of [off, on, profile({ readable: [], writable: [], locked: [], hidden: [] })]) {
    for (const { what, filters } of rulesOf(text)) {
      if (/file-(write|map)|file-read\*/.test(what)) assert(filters.length > 0, what);
    }
    for (const closed of ["securityd", "SecurityServer", "launchservices", "pasteboard"]) {
      assert(!text.includes(closed), closed);
    }
  }
});

Deno.test({
  name: "a command's profile has its directory, and locks what runs later in it",
  ignore: !granted("read", "write", "env", "sys"),
  fn() {
    const root = Deno.realPathSync(Deno.makeTempDirSync());
    const workdir = `${root}/work`;
    Deno.mkdirSync(`${workdir}/.vscode`, { recursive: true });
    Deno.mkdirSync(`${root}/space`);
    using sandbox = seatbelt({ HOME: root, PATH: "/usr/bin" }, {
      shell: "/bin/sh",
      survey: {
        personal: [root],
        home: root,
        isSeen: () => true,
        programs: { shown: [], path: "/usr/bin", hidden: [] },
      },
      binder: bindByPath,
      bounds: {},
      own: { outside: () => undefined, absence: () => "" },
      granted: () => ({ there: [], sockets: [], devices: [], system: [] }),
      closed: [`${workdir}/.home`],
      refusal: {},
    });
    const argv = (more = {}) =>
      sandbox.argv("true", {
        workdir,
        hidden: [`${workdir}/.svc`],
        network: false,
        space: { tmp: `${root}/space` },
        ...more,
      });
    const { cmd, args: [option, text, ...line], env } = argv();
    assertEquals([cmd, option, line], ["/usr/bin/sandbox-exec", "-p", ["/bin/sh", "-c", "true"]]);
    assertEquals([env.TMPDIR, env.HOME], [`${root}/space`, `${root}/space/home`]);
    const of = (profile: unknown, what: string) =>
      rulesOf(String(profile)).find((rule) => rule.what === what)?.filters ?? [];
    const written = "allow file-read* file-write* file-map-executable";
    assertEquals(of(text, written), [`(subpath "${workdir}")`, `(subpath "${root}/space")`]);
    // Without a repository, git may make one.
    assertEquals(of(text, "deny file-write*"), [`(subpath "${workdir}/.vscode")`]);
    assertEquals(of(text, "deny file-read* file-write*"), [
      `(subpath "${workdir}/.svc")`,
      `(subpath "${workdir}/.home")`,
    ]);
    Deno.mkdirSync(`${workdir}/.git`);
    const locked = of(argv().args[1], "deny file-write*");
    for (const name of ["hooks", "config"]) {
      assert(locked.includes(`(subpath "${workdir}/.git/${name}")`), locked.join());
    }
    assertEquals(of(argv({ read_only: true }).args[1], written), [`(subpath "${root}/space")`]);
    Deno.removeSync(root, { recursive: true });
  },
});
