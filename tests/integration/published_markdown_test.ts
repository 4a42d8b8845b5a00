/** Commands and skills as they are published: front matter that is prose, and files that are broken. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

/** Files of a project, and what becomes of them. */
const FILES: Record<string, string> = {
  // jaredrhod/ai-marketing-skills#3, BuilderIO/skills#38
  ".claude/skills/marketing/SKILL.md":
    "\ufeff---\r\nname: marketing\r\ndescription: Use it for work: writing, #tags of @us\r\n---\r\n\r\nWrite.\r\n",
  // openclaw/openclaw#29981
  ".claude/skills/anime/SKILL.md":
    "---\nname: anime\ndescription:\tDraws IMPORTANT: must use anime style\n---\nDraw.",
  ".claude/commands/fix.md": "---\ndescription: [draft] fixes #12: now\nmodel: @opus\n---\nFix $1.",
  ".claude/skills/open/SKILL.md": "---\nname: open\ndescription: x\n",
  ".claude/commands/binary.md": "a\0b",
};

Deno.test({
  name: "published skills and commands are used, and a note names the files that cannot be read",
  ignore,
  async fn() {
    await using it = await Scenario.begin(({ messages }) => {
      const last = messages.at(-1)!;
      if (last.role !== "user") return { text: "Done." };
      return last.text.includes("marketing")
        ? { calls: [{ name: "use_skill", args: { name: "marketing" } }] }
        : { text: "Said." };
    });
    for (const [path, text] of Object.entries(FILES)) {
      const file = join(it.workdir, path);
      Deno.mkdirSync(dirname(file), { recursive: true });
      Deno.writeTextFileSync(file, text);
    }
    const notes = () =>
      it.client.of("lane.note").map(({ data }) => data).filter(({ reason_code }) =>
        reason_code === "files_unreadable"
      );
    await it.turn("Do marketing.");
    await it.turn("Say.");
    const told = it.client.of("context.told")[0].data.text;
    assertStringIncludes(told, "- marketing: Use it for work: writing, #tags of @us");
    assertStringIncludes(told, "- anime: Draws IMPORTANT: must use anime style");
    assertStringIncludes(it.client.of("session.tool_completed")[0].data.output, "Write.");
    const { commands } = await it.call("commands.list");
    assertEquals(commands.map(({ description }: { description: string }) => description), [
      "[draft] fixes #12: now",
    ]);
    assertEquals(notes().length, 1);
    const { text } = notes()[0];
    assertStringIncludes(text, "skills/open/SKILL.md: its front matter has no closing line");
    assertStringIncludes(text, "commands/binary.md: is not text");
    assert(!text.includes("marketing"));
    await it.restart();
    await it.turn("Say.");
    assertEquals(notes().length, 2, "once for each daemon");
  },
});
