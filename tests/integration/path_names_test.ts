/**
 * Paths and patterns as models write them, with names of the kinds that users of other agents
 * reported: what is there is found, and nothing is made twice. The report stands in the name of the
 * step.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { can_run_svc } from "../support/svc.ts";
import { MadeCalls } from "../support/made_calls.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

interface Named {
  source: string;
  /** What is there. */
  name: string;
  /** What the model writes; WORKDIR and HOME are filled in. */
  given: string;
  /** Whether the result says which name is meant. */
  says?: boolean;
}

const NAMES: Record<string, Named> = {
  "a no-break space of a screenshot": {
    source: "anthropics/claude-code#59381",
    name: "Snímek obrazovky v\u00a013.05.05.txt",
    given: "Snímek obrazovky v 13.05.05.txt",
    says: true,
  },
  "a narrow no-break space": {
    source: "anomalyco/opencode#41833",
    name: "Screenshot 10.07.55\u202fPM.txt",
    given: "Screenshot 10.07.55 PM.txt",
    says: true,
  },
  "a name that has such a space, given exactly": {
    source: "can1357/oh-my-pi#12805",
    name: "a\u00a0b.txt",
    given: "a\u00a0b.txt",
  },
  "accents of their own": {
    source: "mucommander/mucommander#900",
    name: "U\u0308bung/re\u0301sume\u0301.txt",
    given: "Übung/résumé.txt",
    says: true,
  },
  "accents that are composed": {
    source: "quodlibet/quodlibet#1760",
    name: "Übung/Ämter.txt",
    given: "U\u0308bung/A\u0308mter.txt",
    says: true,
  },
  "a typographic apostrophe": {
    source: "can1357/oh-my-pi#12805",
    name: "Anna’s – notes.txt",
    given: "Anna's - notes.txt",
    says: true,
  },
  "brackets and parentheses of routes": {
    source: "githubnext/copilot-workspace-user-manual#79",
    name: "app/(shop)/[...slug]/{x}.txt",
    given: "app/(shop)/[...slug]/{x}.txt",
  },
  "brackets as a shell has them": {
    source: "githubnext/copilot-workspace-user-manual#79",
    name: "app/[id]/my page.txt",
    given: "app/\\[id\\]/my\\ page.txt",
    says: true,
  },
  "separators of Windows": {
    source: "google-gemini/gemini-cli#3543",
    name: "src/deep/file.txt",
    given: "src\\deep\\file.txt",
    says: true,
  },
  "a blank at the end": {
    source: "anomalyco/opencode#41833",
    name: "ends with a blank .txt ",
    given: "ends with a blank .txt ",
  },
  "an address": {
    source: "anomalyco/opencode#41833",
    name: "with blank/ä.txt",
    given: "file://WORKDIR/with%20blank/%C3%A4.txt",
  },
  "the home directory": {
    source: "anomalyco/opencode#30841",
    name: "in home.txt",
    given: "~/WORKDIR-IN-HOME/in home.txt",
  },
  "a directory that is called ~": {
    source: "anomalyco/opencode#30841",
    name: "~/own.txt",
    given: "./~/own.txt",
  },
};

Deno.test(
  { name: "a path is taken as it stands, or as the one name that looks like it", ignore },
  async (t) => {
    await using calls = await MadeCalls.begin();
    const { place } = calls.scenario;
    for (
      const [n, [what, { source, name, given, says = false }]] of Object.entries(NAMES).entries()
    ) {
      await t.step(`${what} (${source})`, async () => {
        // Below the home directory of the test.
        const workdir = await calls.in(`person/names-${n}`, { [name]: "one\n" });
        const path = given.replace("WORKDIR-IN-HOME", `names-${n}`).replace("WORKDIR", workdir);
        const all = await calls.make(
          ["read_file", { path }],
          ["edit_file", { path, old_text: "one", new_text: "two" }],
          ["write_file", { path, content: "three\n" }],
          ["grep", { pattern: "three", path }],
          ["apply_patch", {
            patch: `*** Begin Patch\n*** Update File: ${path}\n-three\n+four\n*** End Patch\n`,
          }],
        );
        assertEquals(
          all.map(({ ok }) => ok),
          [true, true, true, true, true],
          JSON.stringify(all),
        );
        assertEquals(all.map(({ output }) => output.includes("is meant]")), Array(5).fill(says));
        assertEquals(Deno.readTextFileSync(join(workdir, name)), "four\n");
        assertEquals(filesIn(workdir), [name], "nothing was made twice");
      });
    }

    await t.step(
      "several names that look the same are not guessed (can1357/oh-my-pi#12805)",
      async () => {
        const workdir = await calls.in("several", { "a\u00a0b.txt": "1\n", "a\u2009b.txt": "2\n" });
        const all = await calls.make(
          ["read_file", { path: "a b.txt" }],
          ["write_file", { path: "a b.txt", content: "3\n" }],
          ["read_file", { path: "a\u2009b.txt" }],
        );
        assertEquals(all.map(({ ok }) => ok), [false, false, true]);
        assertStringIncludes(all[0].output, '"a\\u00a0b.txt", "a\\u2009b.txt"');
        assertEquals(filesIn(workdir).length, 2);
      },
    );

    await t.step(
      "a new file is made where its directory is, and a path outside is said",
      async () => {
        const workdir = await calls.in("fresh", { "src/old.txt": "x\n" });
        const all = await calls.make(
          ["write_file", { path: "src\\new.txt", content: "x\n" }],
          ["write_file", { path: "~/elsewhere.txt", content: "x\n" }],
          ["read_file", { path: "file:///etc/hostname" }],
          ["write_file", { path: "other dir/[new].txt", content: "x\n" }],
        );
        assertEquals(all.map(({ ok }) => ok), [true, false, false, true], JSON.stringify(all));
        assertEquals(
          all[1].output,
          `${place.env.HOME}/elsewhere.txt: leads outside the working directory`,
        );
        assertEquals(all[2].output, "/etc/hostname: leads outside the working directory");
        assertEquals(filesIn(workdir), ["other dir/[new].txt", "src/new.txt", "src/old.txt"]);
      },
    );
  },
);

Deno.test({
  name: "a rule about a name holds for what looks like it",
  ignore,
}, async () => {
  await using calls = await MadeCalls.begin({
    toml: '[permissions]\ndeny = ["read_file: secret.txt"]',
  });
  await calls.in("ruled", { "secret.txt": "hidden words\n", "other.txt": "shown\n" });
  const all = await calls.make(
    ["read_file", { path: "secret.txt" }],
    ["read_file", { path: "secret.txt " }],
    ["read_file", { path: "sec\u200bret.txt" }],
    ["read_file", { path: "\\secret.txt" }],
    ["read_file", { path: "other.txt " }],
  );
  assertEquals(all.map(({ ok }) => ok), [false, false, false, false, true], JSON.stringify(all));
  assert(!JSON.stringify(all).includes("hidden words"));
});

Deno.test({ name: "globs and searches find what is there", ignore }, async (t) => {
  await using calls = await MadeCalls.begin();
  const utf16 = Array.from("Text=needle äö\r\n", (char) => [char.charCodeAt(0), 0]).flat();
  await calls.in("searched", {
    "app/[id]/page.tsx": "needle in a route\n",
    "app/i/page.tsx": "other\n",
    "app/(group)/{a,b}.ts": "needle in a group\n",
    ".gitignore": "built\n",
    "built/[out].js": "x\n",
    "strings.inf": Uint8Array.from(utf16),
    "latin.txt": Uint8Array.from("Größe: needle\n", (char) => char.charCodeAt(0)),
    "sjis.txt": Uint8Array.from([0x83, 0x47, 0x83, 0x89, 0x81, 0x5b, 0x3a, 0x0a]),
    "gbk.txt": Uint8Array.from([0xb4, 0xed, 0xce, 0xf3, 0xa3, 0xba, 0xce, 0xc4, 0xbc, 0xfe, 0x0a]),
    "long.js": `${"x".repeat(5_000)} needle ${"y".repeat(5_000)}\n`,
    "words.txt": "cat concat <cat>\n42nd\n",
  });
  const rows: [string, unknown, (output: string) => boolean, string][] = [
    [
      "glob",
      { pattern: "app/[id]/*.tsx" },
      (out) => out.includes("app/[id]/page.tsx"),
      "vercel/next.js#92890",
    ],
    [
      "glob",
      { pattern: "app/(group)/{a,b}.ts" },
      (out) => out === "app/(group)/{a,b}.ts",
      "aidenybai/react-grab#86",
    ],
    ["glob", { pattern: "app/[id]" }, (out) => out === "app/[id]/", "vercel/next.js#92890"],
    ["glob", { pattern: "built" }, (out) => out === "built/", "anomalyco/opencode#33650"],
    [
      "glob",
      { pattern: "built/[out].js" },
      (out) => out === "built/[out].js",
      "vercel/next.js#92890",
    ],
    [
      "grep",
      { pattern: "needle", include: "{a,b}.ts" },
      (out) => out.includes("in a group"),
      "aidenybai/react-grab#86",
    ],
    [
      "grep",
      { pattern: "needle äö", path: "strings.inf" },
      (out) => out === "strings.inf:1: Text=needle äö",
      "mattn/jvgrep#6",
    ],
    [
      "grep",
      { pattern: "Größe" },
      (out) => out.includes("latin.txt:1: Größe: needle"),
      "stefankueng/grepWin#534",
    ],
    [
      "grep",
      { pattern: "エラー" },
      (out) => out.includes("sjis.txt:1: エラー:"),
      "mattn/jvgrep#13",
    ],
    [
      "grep",
      { pattern: "错误.文件" },
      (out) => out.includes("gbk.txt:1: 错误：文件"),
      "ggreer/the_silver_searcher#1014",
    ],
    [
      "grep",
      { pattern: "needle", path: "long.js" },
      (out) => /^long\.js:1: …x+ needle y+…$/.test(out) && out.length < 600,
      "anomalyco/opencode#33650",
    ],
    [
      "grep",
      { pattern: "^[[:digit:]]+[[:alpha:]]", path: "words.txt" },
      (out) => out === "words.txt:2: 42nd",
      "anomalyco/opencode#33650",
    ],
    [
      "grep",
      { pattern: "\\<cat\\>", path: "words.txt" },
      (out) => out.startsWith("words.txt:1: cat"),
      "anomalyco/opencode#33650",
    ],
    ["read_file", { path: "strings.inf" }, (out) => out.includes("needle äö"), "mattn/jvgrep#29"],
    [
      "read_file",
      { path: "gbk.txt" },
      (out) => out === "错误：文件\n",
      "ggreer/the_silver_searcher#1014",
    ],
  ];
  for (const [tool, args, fits, source] of rows) {
    await t.step(`${tool} ${JSON.stringify(args)} (${source})`, async () => {
      const [made] = await calls.make([tool, args]);
      assert(made.ok && fits(made.output), made.output);
    });
  }
});

/** Every file below a directory, without svc's own. */
function filesIn(directory: string, below = ""): string[] {
  return [...Deno.readDirSync(join(directory, below))].flatMap(({ name, isDirectory }) => {
    if (name === ".svc") return [];
    const path = below === "" ? name : `${below}/${name}`;
    return isDirectory ? filesIn(directory, path) : [path];
  }).sort();
}
