/** What stands in the web app's conversation beside messages, calls and answers. */
import { assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { tinyPng } from "../support/media.ts";
import { Scenario } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

Deno.test({
  name: "notes of every kind are shown, and a message waits until the model has seen it",
  ignore: no_browser,
  async fn() {
    const command = "until test -e go; do sleep 0.05; done; exit 3";
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command } }] },
      { text: "I have seen it." },
    ]);
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log");
    await it.send("go");
    await log.getByText("run_command").waitFor();
    await it.send("and hurry");
    const waiting = log.locator(".asked.waits");
    await waiting.getByText("and hurry").waitFor();
    await waiting.getByText("Steers").waitFor();
    assertEquals(await waiting.count(), 1);
    await it.call("cortex.publish", { note: { text: "look\u202e out", severity: "error" } });
    await log.locator(".note.error", { hasText: "look\\u{202e} out" }).waitFor();
    await it.call("session.configure", { title: "Renamed" });
    await log.getByText("Settings: title is now Renamed").waitFor();
    await app.accessible("a message that waits");
    Deno.writeTextFileSync(`${it.workdir}/go`, "");
    await log.getByText("I have seen it.").waitFor();
    await waiting.waitFor({ state: "detached" });
    await log.getByText(/^exit 3 · /).waitFor();
    app.clean("notes of every kind");
  },
});

Deno.test({
  name: "a queued message is taken back into the box by itself, and with a cancelled turn",
  ignore: no_browser,
  async fn() {
    const command = "until test -e go; do sleep 0.05; done";
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command } }] },
      { text: "nobody asked" },
    ]);
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    const log = page.getByRole("log");
    const waiting = log.locator(".asked.waits");
    await it.send("go");
    await log.getByText("run_command").waitFor();
    const attachments = [{ data: tinyPng().toBase64(), name: "dot.png" }];
    await it.call("session.send", { text: "look at this", attachments });
    await it.send("and at that");
    await waiting.getByText("and at that").waitFor();
    const row = log.locator(".asked-row", { hasText: "look at this" });
    await row.getByRole("button", { name: "Take back" }).click();
    await app.holds("document.querySelector('#message').value === 'look at this'", "the box");
    await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
    await log.getByText("Message taken back: look at this").waitFor();
    assertEquals(await waiting.count(), 1);
    await app.focused("#message");
    await it.send("and there");
    await waiting.getByText("and there").waitFor();
    await box.fill("/withdraw");
    await box.press("Enter");
    const both = "and at that\n\nand there";
    await app.holds(`document.querySelector('#message').value === ${JSON.stringify(both)}`, "both");
    await waiting.first().waitFor({ state: "detached" });
    await it.send("and here");
    await waiting.getByText("and here").waitFor();
    await box.fill("look at this");
    await page.getByRole("button", { name: "Cancel turn" }).click();
    await log.getByText("Message taken back: and here").waitFor();
    await page.getByRole("button", { name: "Cancel turn" }).waitFor({ state: "detached" });
    assertEquals(await box.inputValue(), "and here\n\nlook at this");
    assertEquals(await waiting.count(), 0);
    assertEquals(it.asked.length, 1);
    await app.accessible("messages that were taken back");
    app.clean("messages that were taken back");
  },
});

Deno.test({
  name: "rules and commands that cannot be read are named in the page",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Yes." }]);
    Deno.mkdirSync(`${it.workdir}/.agents/commands`, { recursive: true });
    Deno.writeTextFileSync(`${it.workdir}/.agents/commands/open.md`, "---\n");
    Deno.writeTextFileSync(`${it.workdir}/AGENTS.md`, "x".repeat(70_000));
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const log = app.page.getByRole("log");
    await it.turn("go");
    await log.getByText(/open\.md: its front matter has no closing line/).waitFor();
    await log.getByText(/Rules left out: \S*AGENTS\.md \(has more than 65536 bytes\)/).waitFor();
    app.clean("what cannot be read");
  },
});

Deno.test({
  name: "a progress bar of a command that runs is one line in the page, as it stands",
  ignore: no_browser,
  async fn() {
    const command = String.raw`printf 'begin\n'; n=0
while [ $n -lt 250 ]; do n=$((n+1)); printf '\033[2K\033[33mbar %d\033[0m\r' $n; sleep 0.01; done
until [ -e go ]; do sleep 0.05; done; printf '\nend\n'`;
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command } }] },
      { text: "Done." },
    ]);
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    await it.send("go");
    const output = app.page.getByRole("group", { name: "Output of run_command" });
    await output.getByText("bar 250").waitFor();
    assertEquals(await output.textContent(), "begin\nbar 250");
    await app.page.reload();
    await output.getByText("bar 250").waitFor();
    assertEquals(await output.textContent(), "begin\nbar 250");
    Deno.writeTextFileSync(`${it.workdir}/go`, "");
    await output.getByText("end").waitFor();
    app.clean("a progress bar");
  },
});
