/**
 * Files as models change them, with inputs of the kinds that users of other agents reported: the
 * right place changes or none does, and everything that was not meant stays. The report stands in
 * the name of the step.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { gitInstalled } from "../support/repository.ts";
import { can_run_svc } from "../support/svc.ts";
import { MadeCalls } from "../support/made_calls.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

const patch = (...lines: string[]) => ({
  patch: ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n"),
});

interface Patched {
  source: string;
  file: string;
  lines: string[];
  /** What the file is afterwards; without it the patch is refused. */
  want?: string;
  /** What the result says. */
  says?: string;
}

const SHOP = `class Cart {
  total() {
    const rate = 1;
    return rate;
  }
}

class Order {
  tax() {
    const rate = 1;
    return rate;
  }

  total() {
    const rate = 1;
    return rate;
  }
}
`;
const RATE = ["-    const rate = 1;", "+    const rate = 2;"];
/** The shop with another rate in its place number n. */
const rated = (n: number) => {
  let seen = 0;
  return SHOP.replace(/rate = 1/g, (found) => ++seen === n ? "rate = 2" : found);
};

const PATCHES: Record<string, Patched> = {
  "two headers in a row": {
    source: "openai/codex#7619",
    file: SHOP,
    lines: ["@@ class Order {", "@@   total() {", ...RATE],
    want: rated(3),
  },
  "headers without what ends their lines": {
    source: "openai/openai-agents-python#4360",
    file: SHOP,
    lines: ["@@ class Order", "@@ total()", ...RATE],
    want: rated(3),
  },
  "the second header is a line of the context too": {
    source: "github/copilot-cli#1109",
    file: SHOP,
    lines: ["@@ class Order {", "@@   tax() {", "   tax() {", ...RATE],
    want: rated(2),
  },
  "headers of the same words, each further in": {
    source: "openai/codex#7619",
    file: "a:\n  a:\n    a:\n      x: 1\n    b:\n      x: 1\n",
    lines: ["@@ a:", "@@ a:", "@@ a:", "-      x: 1", "+      x: 2"],
    want: "a:\n  a:\n    a:\n      x: 2\n    b:\n      x: 1\n",
  },
  "one header, and two places below it": {
    source: "openai/codex#30946",
    file: SHOP,
    lines: ["@@ class Order {", ...RATE],
    says: "2 times, at lines 10, 15",
  },
  "a header that several blocks have": {
    source: "openai/codex#30946",
    file: SHOP,
    lines: ["@@   total() {", "+    log();"],
    says: "2 times, at lines 3, 15",
  },
  "a second header that is not below the first": {
    source: "openai/codex#7619",
    file: SHOP,
    lines: ["@@ class Cart {", "@@   tax() {", ...RATE],
    says: '"tax() {" is at line 9, which is not below "class Cart {" (line 1)',
  },
  "a header that is nearly a line": {
    source: "ymichael/open-codex#24",
    file: SHOP,
    lines: ["@@ class Orders {", ...RATE],
    says: 'line 8 is "class Order {"',
  },
  "numbers of a unified difference": {
    source: "use-agent-os/agent-os#1169",
    file: SHOP,
    lines: ["@@ -9,3 +9,3 @@ class Order {", "   tax() {", ...RATE],
    want: rated(2),
  },
  "a line becomes an empty one": {
    source: "github/copilot-cli#1109",
    file: "one\ntwo\nthree\n",
    lines: ["@@", " one", "-two", "+", " three"],
    want: "one\n\nthree\n",
  },
};

Deno.test(
  { name: "a patch changes the place that its headers name, or nothing", ignore },
  async (t) => {
    await using calls = await MadeCalls.begin();
    for (const [name, { source, file, lines, want, says }] of Object.entries(PATCHES)) {
      await t.step(`${name} (${source})`, async () => {
        const workdir = await calls.in(name.replaceAll(/\W/g, "-"), { "file.txt": file });
        const [made] = await calls.make([
          "apply_patch",
          patch("*** Update File: file.txt", ...lines),
        ]);
        assertEquals(Deno.readTextFileSync(join(workdir, "file.txt")), want ?? file, made.output);
        assertEquals(made.ok, want !== undefined);
        assertStringIncludes(made.output, says ?? "");
      });
    }

    await t.step("stars behind the lines around a patch (lidge-jun/opencodex#2367)", async () => {
      const workdir = await calls.in("stars");
      const text = "*** Begin Patch ***\n*** Add File: a.txt\n+one\n*** End Patch ***";
      const [made] = await calls.make(["apply_patch", { patch: text }]);
      assert(made.ok, made.output);
      assertEquals(Deno.readTextFileSync(join(workdir, "a.txt")), "one\n");
    });
  },
);

/** What stops a patch when its first files are already written. */
const LATE: Record<string, { source: string; last: string[] }> = {
  "a directory that is a file": {
    source: "anomalyco/opencode#41871",
    last: ["*** Add File: plain.txt/inside.txt", "+x"],
  },
  "a name that is too long": {
    source: "openclaw/openclaw#117742",
    last: [`*** Add File: ${"n".repeat(300)}`, "+x"],
  },
  "a move into .git": {
    source: "anomalyco/opencode#41871",
    last: ["*** Update File: moves.txt", "*** Move to: .git/info/moves.txt", "@@", "-m", "+n"],
  },
  "a deletion that is not allowed": {
    source: "use-agent-os/agent-os#1169",
    last: ["*** Delete File: hidden-link/config"],
  },
};

Deno.test(
  { name: "a patch that cannot be written whole leaves every file as it was", ignore },
  async (t) => {
    await using calls = await MadeCalls.begin();
    for (const [name, { source, last }] of Object.entries(LATE)) {
      await t.step(`${name} (${source})`, async () => {
        const workdir = await calls.in(name.replaceAll(" ", "-"), {
          "first.txt": "one\r\ntwo\r\n",
          "gone.txt": "was here\n",
          "plain.txt": "plain\n",
          "moves.txt": "m\n",
          ".git/config": "",
        });
        Deno.symlinkSync(".git", join(workdir, "hidden-link"));
        Deno.chmodSync(join(workdir, "gone.txt"), 0o750);
        const before = tree(workdir);
        const lines = [
          ...["*** Update File: first.txt", "@@", "-two", "+2"],
          ...["*** Delete File: gone.txt"],
          ...["*** Add File: new/deep/file.txt", "+new"],
        ];
        const [whole] = await calls.make(["apply_patch", patch(...lines, ...last)]);
        assertEquals(whole.ok, false);
        assertStringIncludes(whole.output, "no file was changed");
        assertEquals(tree(workdir), before);
        // The same without what cannot be done.
        const [part] = await calls.make(["apply_patch", patch(...lines)]);
        assert(part.ok, part.output);
        assertEquals(Deno.readTextFileSync(join(workdir, "first.txt")), "one\r\n2\r\n");
        assertEquals(tree(workdir)["gone.txt"], undefined);
      });
    }
  },
);

/** Every file of a directory without svc's own: its content, mode and inode. */
function tree(directory: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name, isDirectory, isSymlink } of Deno.readDirSync(join(directory, below))) {
    const path = join(below, name);
    if (name === ".svc") continue;
    if (isDirectory) Object.assign(found, { [path]: "directory" }, tree(directory, path));
    else if (isSymlink) found[path] = `to ${Deno.readLinkSync(join(directory, path))}`;
    else {
      const { mode } = Deno.statSync(join(directory, path));
      found[path] = `${mode?.toString(8)} ${Deno.readFileSync(join(directory, path))}`;
    }
  }
  return found;
}

interface Edited {
  source: string;
  file: string;
  old_text: string;
  new_text: string;
  want?: string;
  says: string;
}

const CODE = 'function go() {\n  say("one\\n");\n  return 1;\n}\n\nconst x = 1;\n';

const EDITS: Record<string, Edited> = {
  "blank lines around the old text": {
    source: "google-gemini/gemini-cli#1971",
    file: CODE,
    old_text: "\n\n  return 1;\n}\n\n\n\n",
    new_text: "\n\n  return 2;\n}\n\n\n\n",
    want: CODE.replace("return 1", "return 2"),
    says: "blank lines around it",
  },
  "blank lines around the old text only": {
    source: "anomalyco/opencode#42908",
    file: CODE,
    old_text: "\n\n\nconst x = 1;\n\n\n",
    new_text: "const x = 2;\n",
    want: CODE.replace("x = 1", "x = 2"),
    says: "blank lines around it",
  },
  "quotes that were escaped twice": {
    source: "google-gemini/gemini-cli#6826",
    file: CODE,
    old_text: 'say(\\"one\\\\n\\");',
    new_text: 'say(\\"two\\\\n\\");',
    want: CODE.replace('"one', '"two'),
    says: "escapes that were doubled",
  },
  "line ends that were written out": {
    source: "google-gemini/gemini-cli#5877",
    file: CODE,
    old_text: "  return 1;\\n}\\n",
    new_text: "  return 2;\\n}\\n",
    want: CODE.replace("return 1", "return 2"),
    says: "escapes that were doubled",
  },
  "an old text that fits twice without its blank lines": {
    source: "google-gemini/gemini-cli#1971",
    file: "a();\nb();\na();\n",
    old_text: "\n\na();\n\n",
    new_text: "c();\n",
    says: "old_text was not found",
  },
};

Deno.test({ name: "an edit is taken where exactly one place can be meant", ignore }, async (t) => {
  await using calls = await MadeCalls.begin();
  for (const [name, { source, file, old_text, new_text, want, says }] of Object.entries(EDITS)) {
    await t.step(`${name} (${source})`, async () => {
      const workdir = await calls.in(name.replaceAll(/\W/g, "-"), { "file.js": file });
      const [made] = await calls.make(["edit_file", { path: "file.js", old_text, new_text }]);
      assertEquals(Deno.readTextFileSync(join(workdir, "file.js")), want ?? file, made.output);
      assertEquals(made.ok, want !== undefined);
      assertStringIncludes(made.output, says);
    });
  }
});

const bytesOf = (...parts: (string | number[])[]) =>
  Uint8Array.from(
    parts.flatMap((part) => typeof part === "string" ? [...new TextEncoder().encode(part)] : part),
  );
const UTF8_MARK = [0xef, 0xbb, 0xbf];
const utf16 = (text: string, little_endian: boolean) =>
  Array.from(text, (char) => {
    const code = char.charCodeAt(0);
    return little_endian ? [code & 255, code >> 8] : [code >> 8, code & 255];
  }).flat();
/** エラー, 確認 and 错误, 文件: in Shift-JIS and in GBK. */
const ERROR_JA = [0x83, 0x47, 0x83, 0x89, 0x81, 0x5b];
const CHECK_JA = [0x8a, 0x6d, 0x94, 0x46];
const ERROR_ZH = [0xb4, 0xed, 0xce, 0xf3];
const FILE_ZH = [0xce, 0xc4, 0xbc, 0xfe];

interface Replaced {
  source: string;
  file: Uint8Array;
  content: string;
  want: Uint8Array;
}

const REPLACED: Record<string, Replaced> = {
  "a byte order mark and CRLF": {
    source: "Gitlawb/zero#967",
    file: bytesOf(UTF8_MARK, "Set-Item a\r\nSet-Item b\r\n"),
    content: "Set-Item a\nSet-Item ü\n",
    want: bytesOf(UTF8_MARK, "Set-Item a\r\nSet-Item ü\r\n"),
  },
  "the mark is written by the model too": {
    source: "Gitlawb/zero#1064",
    file: bytesOf(UTF8_MARK, "a\n"),
    content: "\ufeffb\n",
    want: bytesOf(UTF8_MARK, "b\n"),
  },
  "the first CRLF is far behind the beginning": {
    source: "Gitlawb/zero#1064",
    file: bytesOf(`// ${"-".repeat(9_000)}\r\nx\r\n`),
    content: "y\nz\n",
    want: bytesOf("y\r\nz\r\n"),
  },
  "the model writes CRLF itself, and one LF": {
    source: "MoonshotAI/kimi-cli#2362",
    file: bytesOf("a\r\nb\r\n"),
    content: "a\r\nc\nd\r\n",
    want: bytesOf("a\r\nc\r\nd\r\n"),
  },
  "a file with LF stays as the model writes it": {
    source: "google-gemini/gemini-cli#3543",
    file: bytesOf("a\nb\n"),
    content: "a\nc\n",
    want: bytesOf("a\nc\n"),
  },
  "UTF-16 with its mark": {
    source: "MoonshotAI/kimi-code#3946",
    file: bytesOf([0xff, 0xfe], utf16("naïve\r\n", true)),
    content: "naïve\nλ\n",
    want: bytesOf([0xff, 0xfe], utf16("naïve\r\nλ\r\n", true)),
  },
  "UTF-16 without a mark": {
    source: "MoonshotAI/kimi-code#3946",
    file: bytesOf(utf16("[Setup]\r\nName=a\r\n", false)),
    content: "[Setup]\nName=b\n",
    want: bytesOf(utf16("[Setup]\r\nName=b\r\n", false)),
  },
  "Latin-1": {
    source: "anomalyco/opencode#18616",
    file: Uint8Array.from("Grüße\n", (char) => char.charCodeAt(0)),
    content: "Größe\n",
    want: Uint8Array.from("Größe\n", (char) => char.charCodeAt(0)),
  },
  "Shift-JIS": {
    source: "anomalyco/opencode#20217",
    file: bytesOf("echo ", ERROR_JA, "\r\n"),
    content: "echo エラー確認\n",
    want: bytesOf("echo ", ERROR_JA, CHECK_JA, "\r\n"),
  },
  "GBK": {
    source: "anomalyco/opencode#20217",
    file: bytesOf("echo ", FILE_ZH, ERROR_ZH, "\r\n"),
    content: "echo 错误\n",
    want: bytesOf("echo ", ERROR_ZH, "\r\n"),
  },
};

Deno.test({ name: "a file that is replaced keeps its form", ignore }, async (t) => {
  await using calls = await MadeCalls.begin();
  for (const [name, { source, file, content, want }] of Object.entries(REPLACED)) {
    await t.step(`${name} (${source})`, async () => {
      const workdir = await calls.in(name.replaceAll(/\W/g, "-"), { "file": file });
      const all = await calls.make(
        ["read_file", { path: "file" }],
        ["write_file", { path: "file", content }],
        // What is remembered of it is what is there: this is no change by somebody else.
        ["write_file", { path: "file", content }],
        ["write_file", { path: "new", content: "one\n" }],
      );
      assertEquals(all.map(({ ok }) => ok), [true, true, true, true], JSON.stringify(all));
      assertEquals(Deno.readFileSync(join(workdir, "file")), want);
      assertEquals(Deno.readTextFileSync(join(workdir, "new")), "one\n");
    });
  }

  await t.step(
    "what its encoding has no place for is refused, and nothing is written",
    async () => {
      const workdir = await calls.in("no-place", { file: Uint8Array.of(0xfc, 0x0a) });
      const [refused] = await calls.make(["write_file", { path: "file", content: "λ\n" }]);
      assertEquals(refused.ok, false);
      assertStringIncludes(refused.output, "which is Latin-1; to have it in UTF-8, delete");
      assertEquals(Deno.readFileSync(join(workdir, "file")), Uint8Array.of(0xfc, 0x0a));
    },
  );
});

Deno.test({
  name: "mode, owner and links of a changed file stay, also when it is undone after a restart",
  ignore: ignore || !gitInstalled(),
}, async () => {
  await using calls = await MadeCalls.begin();
  const { scenario } = calls;
  const workdir = await calls.in("links", {
    "write.sh": "one\r\n",
    "edit.sh": "one\r\n",
    "patch.sh": "one\r\n",
    "moves.sh": "one\r\n",
  });
  const at = (name: string) => join(workdir, name);
  const owner = Deno.uid() === 0 ? [12_345, 12_346] : [Deno.uid()!, Deno.gid()!];
  for (const name of ["write", "edit", "patch", "moves"]) {
    Deno.chmodSync(at(`${name}.sh`), 0o750);
    Deno.chownSync(at(`${name}.sh`), owner[0], owner[1]);
    if (name !== "moves") Deno.linkSync(at(`${name}.sh`), at(`${name}-too.sh`));
    if (name !== "moves") Deno.symlinkSync(`${name}.sh`, at(`${name}-link.sh`));
  }
  // Its owner matters, and it has no second name.
  Deno.writeTextFileSync(at("alone.sh"), "one\r\n");
  Deno.chmodSync(at("alone.sh"), 0o640);
  Deno.chownSync(at("alone.sh"), owner[0], owner[1]);
  const shape = () =>
    ["write", "edit", "patch"].map((name) => {
      const { ino, mode, uid, gid, nlink } = Deno.statSync(at(`${name}.sh`));
      const link = Deno.readLinkSync(at(`${name}-link.sh`));
      return {
        ino,
        same: Deno.statSync(at(`${name}-too.sh`)).ino === ino,
        mode,
        uid,
        gid,
        nlink,
        link,
      };
    });
  const before = shape();
  const made = await calls.make(
    ["write_file", { path: "write-link.sh", content: "two, and longer\n" }],
    ["write_file", { path: "alone.sh", content: "two\n" }],
    ["edit_file", { path: "edit-link.sh", old_text: "one", new_text: "two" }],
    ["apply_patch", patch("*** Update File: patch-link.sh", "-one", "+two")],
    ["apply_patch", patch("*** Update File: moves.sh", "*** Move to: moved.sh", "-one", "+two")],
  );
  assertEquals(made.filter(({ ok }) => !ok), []);
  const texts = () =>
    ["write-too.sh", "edit-too.sh", "patch-too.sh", "alone.sh"]
      .map((name) => Deno.readTextFileSync(at(name)));
  assertEquals(texts(), ["two, and longer\r\n", "two\r\n", "two\r\n", "two\r\n"]);
  assertEquals(shape(), before);
  assertEquals(Deno.statSync(at("moved.sh")).mode! & 0o777, 0o750);
  const alone = Deno.statSync(at("alone.sh"));
  assertEquals([alone.uid, alone.gid, alone.mode! & 0o777], [...owner, 0o640]);

  await scenario.restart();
  await scenario.call("session.rewind");
  assertEquals(texts(), ["one\r\n", "one\r\n", "one\r\n", "one\r\n"]);
  assertEquals(shape(), before);
  const again = Deno.statSync(at("alone.sh"));
  assertEquals([again.uid, again.gid, again.mode! & 0o777], [...owner, 0o640]);
});
