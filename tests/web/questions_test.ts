/** What a person is asked to allow is seen in full, and an answer is meant for what is seen. */
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import type { Page } from "playwright-core";
import type { Answer } from "../support/model_servers.ts";
import { Browser } from "../support/browser.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const LINES = Array.from({ length: 300 }, (_, n) => `line ${n}\n`);

const command = (text: string) => ({ name: "run_command", args: { command: text } });

/** A session whose model asks for these calls; its page, whose time stands still once they wait. */
class Asked implements AsyncDisposable {
  readonly #browser: Browser;

  private constructor(readonly it: Scenario, readonly app: AppPage, browser: Browser) {
    this.#browser = browser;
  }

  /** @param stopped whether time stands still already when the question comes */
  static async begin(
    calls: Answer["calls"],
    files: Record<string, string> = {},
    stopped = false,
  ): Promise<Asked> {
    const it = await Scenario.begin([{ calls }, { text: "The end." }], {
      start: { approval: "ask" },
    });
    for (const [path, text] of Object.entries(files)) {
      Deno.writeTextFileSync(join(it.workdir, path), text);
    }
    const browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    await app.page.clock.install();
    await app.go(`/sessions/${it.session_id}`);
    const asked = new Asked(it, app, browser);
    if (stopped) await asked.#pause();
    await it.send("go");
    if (stopped) await asked.comes();
    else await app.page.locator(".approval").first().waitFor();
    return asked;
  }

  get page(): Page {
    return this.app.page;
  }

  button(name: "Allow" | "Deny") {
    return this.page.locator(".approval").first().getByRole("button", { name, exact: true });
  }

  /** Stops the page's time, once it shows what an answer waits for. */
  async stopTime(hint: string): Promise<void> {
    await this.page.getByText(hint).first().waitFor();
    await this.#pause();
  }

  /** Waits for the question while time stands still but for the moments in which the page paints. */
  async comes(): Promise<void> {
    const hint = this.page.getByText("Always allow:").first();
    await until(async () => {
      await this.page.clock.runFor(20);
      return await hint.isVisible();
    }, "the question comes");
  }

  async #pause(): Promise<void> {
    // Time goes on until the page is told at which moment to stop, on a busy machine past that moment.
    for (let ahead_ms = 10;; ahead_ms *= 2) {
      const now = await this.page.evaluate("Date.now()") as number;
      try {
        return await this.page.clock.pauseAt(now + ahead_ms);
      } catch (error) {
        if (ahead_ms > 200 || !String(error).includes("fast-forward to the past")) throw error;
      }
    }
  }

  /** Lets time pass. @returns whether the question can be allowed then. */
  async after(ms: number): Promise<boolean> {
    await this.page.clock.runFor(ms);
    return await this.button("Allow").getAttribute("aria-disabled") === null;
  }

  /** Scrolls through the question, as a wheel does. */
  async toEnd(): Promise<void> {
    await this.page.locator(".approval-head").first().hover();
    await this.page.mouse.wheel(0, 100_000);
    await this.page.getByText("Always allow:").first().waitFor();
  }

  decisions(): string[] {
    return this.it.client.of("approval.resolved").map(({ data }) => String(data.decision));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser[Symbol.asyncDispose]();
    await this.it[Symbol.asyncDispose]();
  }
}

Deno.test({
  name: "a long question is scrolled to its end, and can be allowed half a second after that",
  ignore: no_browser,
  async fn() {
    await using asked = await Asked.begin([
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
    await using asked = await Asked.begin([command("echo one")], {}, true);
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
    await using asked = await Asked.begin([command("echo one")]);
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
    await using asked = await Asked.begin([
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

    await page.getByText('"replace_all": true').waitFor();
    // Each place, although the call names one.
    const ones = LINES.filter((line) => line.startsWith("line 1")).map((line) => line.trimEnd());
    assertEquals((await kinds("delete")).sort(), ones.sort());
    await asked.button("Deny").click();

    await page.getByText("New file", { exact: true }).waitFor();
    assertEquals([await kinds("delete"), await kinds("insert")], [[], ["n"]]);
    await asked.button("Deny").click();

    await page.getByText("Deleted", { exact: true }).waitFor();
    const names = page.locator(".approval .approval-reason.mono");
    assertEquals(await names.allTextContents(), ["old.txt", "gone.txt"]);
    assertEquals(await kinds("delete"), ["line 7", "was here"]);
    assertEquals(await kinds("insert"), ["line seven"]);
    const screen = await asked.it.call("tui.snapshot", { cols: 100, rows: 50 });
    assertMatch(screen.view, /gone\.txt: deleted\s+- was here/);
    await asked.button("Deny").click();
    await page.getByText('"timeout_s": 77').waitFor();
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
    await using asked = await Asked.begin([
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
    await using asked = await Asked.begin([
      { name: "write_file", args: { path: "a.txt", content } },
    ]);
    const { page } = asked;
    const more = page.getByRole("button", { name: "Show 500 more lines" });
    await more.waitFor();
    await page.locator(".approval-head").hover();
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
