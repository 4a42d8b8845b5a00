/** What a person is asked to allow is seen in full, and an answer is meant for what is seen. */
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { AskedPage } from "../support/asked_page.ts";
import { until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const LINES = Array.from({ length: 300 }, (_, n) => `line ${n}\n`);

const command = (text: string) => ({ name: "run_command", args: { command: text } });

Deno.test({
  name: "a long question is scrolled to its end, and can be allowed half a second after that",
  ignore: no_browser,
  async fn() {
    await using asked = await AskedPage.begin(shared, [
      { name: "write_file", args: { path: "new.txt", content: LINES.join("") } },
    ]);
    const { page, app } = asked;
    await page.getByText("line 299").waitFor();
    await asked.stopTime("Scroll to the end to allow it");
    assertEquals(await asked.after(5_000), false);
    // Nobody has to read what is denied.
    assertEquals(await asked.button("Deny").getAttribute("aria-disabled"), null);
    await asked.toEnd();
    assertEquals(await asked.after(400), false);
    assertEquals(await asked.after(200), true);
    await page.clock.resume();
    await app.accessible("a long question");
    await asked.button("Allow").click();
    await page.getByRole("log").getByText("The end.").waitFor();
    assertEquals(Deno.readTextFileSync(join(asked.it.workdir, "new.txt")), LINES.join(""));
    app.clean("a long question");
  },
});

Deno.test({
  name: "nothing is answered by a pointer or a key that was pressed before the question came",
  ignore: no_browser,
  async fn() {
    await using asked = await AskedPage.begin(shared, [command("echo one")], {}, true);
    const { page } = asked;
    await asked.button("Allow").hover();
    await page.mouse.down();
    assertEquals(await asked.after(5_000), false);
    await page.mouse.up();
    assertEquals(asked.decisions(), []);
    assertEquals(await asked.after(1_000), true);
    await page.reload();
    await asked.comes();
    await page.keyboard.down("Space");
    await asked.button("Allow").focus();
    assertEquals(await asked.after(5_000), false);
    await page.keyboard.up("Space");
    assertEquals(asked.decisions(), []);
    assertEquals(await asked.after(1_000), true);
    await page.keyboard.press("Space");
    await page.clock.resume();
    await page.getByRole("log").getByText("The end.").waitFor();
    assertEquals(asked.decisions(), ["allow"]);
  },
});

Deno.test({
  name: "an answer that comes too late is said, and is no alert",
  ignore: no_browser,
  async fn() {
    await using asked = await AskedPage.begin(shared, [command("echo one")]);
    const { page, it } = asked;
    await asked.stopTime("Always allow:");
    assertEquals(await asked.after(1_000), true);
    const [{ approval_id }] = (await it.call("session.get")).pending_approvals;
    // The page does not draw it: its time stands still.
    await it.call("session.approve", { approval_id, decision: "deny" });
    // What is said next takes its place at once.
    await page.evaluate(`{
      const place = document.querySelector("[aria-live=polite]");
      globalThis.said = [];
      new MutationObserver(() => said.push(place.textContent))
        .observe(place, { childList: true, characterData: true, subtree: true });
    }`);
    await asked.button("Allow").click();
    const heard = () => page.evaluate("said.join()") as Promise<string>;
    await until(async () => (await heard()).includes("was already answered"), "what is said");
    // It also stays in sight, after the question.
    await page.clock.resume();
    await page.locator(".approval-late", { hasText: "was already answered: deny" }).waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.locator(".approval-late").waitFor({ state: "detached" });
    assertEquals(await page.locator(".alert").count(), 0);
    assertEquals(asked.decisions(), ["deny"]);
  },
});

Deno.test({
  name: "a write, an edit and a patch are shown as what they change in files, with all they say",
  ignore: no_browser,
  async fn() {
    const content = LINES.with(150, "changed\n").join("");
    const edit = { path: "old.txt", old_text: "line 1", new_text: "LINE 1", replace_all: true };
    const patch = [
      ...["*** Begin Patch", "*** Update File: old.txt", "-line 7", "+line seven"],
      ...["*** Delete File: gone.txt", "*** End Patch", ""],
    ].join("\n");
    await using asked = await AskedPage.begin(shared, [
      { name: "write_file", args: { path: "old.txt", content } },
      { name: "edit_file", args: edit },
      { name: "write_file", args: { path: "new.txt", content: "n\n" } },
      { name: "apply_patch", args: { patch } },
      { name: "run_command", args: { command: "echo one", timeout_s: 77 } },
    ], { "old.txt": LINES.join(""), "gone.txt": "was here\n" });
    const { page } = asked;
    const kinds = async (kind: string) =>
      await page.locator(`.approval .${kind} code`).allTextContents();
    await page.locator(".approval-reason", { hasText: "(replaces a file that is there)" })
      .waitFor();
    await page.locator(".approval .delete").waitFor();
    assertEquals(await kinds("delete"), ["line 150"]);
    assertEquals(await kinds("insert"), ["changed"]);
    await asked.button("Deny").click();

    await page.locator(".approval-args", { hasText: /replace_all\s*true/ }).waitFor();
    // Each place, although the call names one.
    const ones = LINES.filter((line) => line.startsWith("line 1")).map((line) => line.trimEnd());
    assertEquals((await kinds("delete")).sort(), ones.sort());
    await asked.button("Deny").click();

    await page.getByText("New file", { exact: true }).waitFor();
    assertEquals([await kinds("delete"), await kinds("insert")], [[], ["n"]]);
    await asked.button("Deny").click();

    await page.getByText("Deleted", { exact: true }).waitFor();
    const names = page.locator(".approval-file .mono");
    assertEquals(await names.allTextContents(), ["old.txt", "gone.txt"]);
    assertEquals(await kinds("delete"), ["line 7", "was here"]);
    assertEquals(await kinds("insert"), ["line seven"]);
    const screen = await asked.it.call("tui.snapshot", { cols: 100, rows: 50 });
    assertMatch(screen.view, /gone\.txt: deleted\s+- was here/);
    await asked.button("Deny").click();
    await page.locator(".approval-args", { hasText: /timeout_s\s*77/ }).waitFor();
    await page.getByRole("button", { name: "Say what instead…" }).click();
    await page.getByLabel("What to do instead").fill("echo two");
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("The end.").waitFor();
    const { message } = (await asked.it.event("approval.resolved", ({ data }) =>
      data.message)).data;
    assertEquals(message, "echo two");
  },
});

Deno.test({
  name: "a change that is too long for the question is compared with the file as it is now",
  ignore: no_browser,
  async fn() {
    const content = `${LINES.join("").repeat(40)}the end\n`;
    await using asked = await AskedPage.begin(shared, [
      { name: "write_file", args: { path: "old.txt", content } },
    ], { "old.txt": "before\n" });
    await asked.page.getByText("Compared with the file as it is now").waitFor();
    await asked.page.getByText("Show all of it to allow it").waitFor();
  },
});

Deno.test({
  name: "a change that is cut says so, and can be allowed once all of it was shown and seen",
  ignore: no_browser,
  async fn() {
    const content = "harmless\n".repeat(2_500);
    await using asked = await AskedPage.begin(shared, [
      { name: "write_file", args: { path: "a.txt", content } },
    ]);
    const { page } = asked;
    const more = page.getByRole("button", { name: "Show 500 more lines" });
    await more.waitFor();
    await page.locator(".approval-text").hover();
    await page.mouse.wheel(0, 100_000);
    await asked.stopTime("Show all of it to allow it");
    assertEquals(await asked.after(5_000), false);
    await more.click();
    await page.clock.resume();
    await page.locator(".diff-line").nth(2_499).waitFor({ state: "attached" });
    await asked.toEnd();
    await asked.button("Allow").click();
    await page.getByRole("log").getByText("The end.").waitFor();
    assertEquals(asked.decisions(), ["allow"]);
  },
});
