/** The page of the questions of all sessions. */
import { assertEquals, assertMatch } from "@std/assert";
import { IMAGE } from "../support/hostile.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "the questions of all sessions are answered on one page, by mouse and keyboard",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(({ messages }) => {
      const { text } = messages.find(({ role }) => role === "user") as { text: string };
      return messages.some(({ role }) => role === "tool") ? { text: "The end." } : {
        calls: [{
          id: text,
          name: "run_command",
          args: { command: `echo ${text} ${"word ".repeat(2_000)}` },
        }],
      };
    }, { start: { approval: "ask", title: `First ${IMAGE}` } });
    const second = await it.client.session({
      workdir: it.place.mkdir("other"),
      model: it.model,
      approval: "ask",
      title: "Second",
    });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/questions");
    const { page } = app;
    await page.getByText("No questions").waitFor();
    await app.accessible("no questions");
    await it.send("one");
    const open = page.locator(".approval:not([hidden])");
    await open.locator(".tool-command", { hasText: "echo one" }).waitFor();
    await it.client.rpc.call("session.send", { session_id: second, text: "two" });
    const list = page.getByRole("list", { name: "Sessions with questions" });
    await list.getByRole("listitem").nth(1).waitFor();
    // The oldest is the first. What comes does not take the place of what is being read.
    assertMatch(await list.getByRole("button").first().innerText(), /First/);
    assertMatch(await list.locator("[aria-current]").innerText(), /First/);
    assertEquals(await open.locator(".tool-command", { hasText: "echo one" }).count(), 1);
    // The number in the sidebar leads here.
    await app.go("/");
    await page.getByRole("link", { name: "2 approvals wait" }).click();
    await page.getByRole("heading", { level: 1, name: "Questions" }).waitFor();
    await list.getByRole("listitem").nth(1).waitFor();
    await list.getByRole("button", { name: "Second" }).click();
    await open.locator(".tool-command", { hasText: "echo two" }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "Second" }).waitFor();
    await app.accessibleEverywhere("questions of two sessions");
    for (const [width, height] of [[1440, 900], [390, 844], [390, 560]]) {
      await page.setViewportSize({ width, height });
      for (const name of ["Allow", "Deny"]) {
        const box = (await open.getByRole("button", { name, exact: true }).boundingBox())!;
        assertEquals(box.y >= 0 && box.y + box.height <= height, true, `${name} at ${height} px`);
      }
      assertEquals(await page.evaluate("document.documentElement.scrollWidth"), width);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await open.getByRole("button", { name: "Deny", exact: true }).click();
    const decisions = () =>
      it.client.of("approval.resolved").map(({ session_id, data }) => [session_id, data.decision]);
    // The other session's question is there then, and its answer by a key is not the one of before.
    await open.locator(".tool-command", { hasText: "echo one" }).waitFor();
    await app.focusKept();
    await open.locator(".approval-text").hover();
    await page.mouse.wheel(0, 100_000);
    await app.holds(
      "document.querySelector('.approval:not([hidden]) [aria-keyshortcuts=y]')" +
        ".ariaDisabled !== 'true'",
      "the question can be answered",
    );
    await page.keyboard.press("y");
    await page.getByText("No questions").waitFor();
    await app.focusKept();
    await until(() => it.client.of("approval.resolved").length > 0, "an answer");
    assertEquals(decisions().filter(([id]) => id === it.session_id), [[it.session_id, "allow"]]);
    const { approvals } = await it.client.rpc.call("approvals.list", {});
    assertEquals(approvals, []);
    app.clean("the page of questions");
  },
});

Deno.test({
  name: "a question of an archived session counts and is answered; a late answer's note stays",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(({ messages }) => {
      const { text } = messages.findLast(({ role }) => role === "user") as { text: string };
      return messages.at(-1)!.role === "tool" ? { text: "The end." } : {
        calls: [{ id: text, name: "run_command", args: { command: `echo ${text}` } }],
      };
    }, { start: { approval: "ask", title: "Put away" } });
    await it.send("one");
    const asked = await it.event("approval.requested");
    await it.call("session.configure", { archived: true });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    // The list leaves it out; its question does not wait unseen.
    await page.getByText("No sessions yet").waitFor();
    await page.getByRole("link", { name: "1 approval waits" }).click();
    await page.getByRole("heading", { level: 1, name: "Questions" }).waitFor();
    assertMatch(await page.title(), /^\(1\) /);
    await page.getByRole("list", { name: "Sessions with questions" }).getByText("Put away")
      .waitFor();
    const allow = page.getByRole("button", { name: "Allow", exact: true });
    await app.holds(
      "document.querySelector('.approval [aria-keyshortcuts=y]')?.ariaDisabled !== 'true'",
      "the question can be answered",
    );
    await allow.waitFor();
    // Somebody else is faster, and the page does not hear of it before the button is pressed.
    await page.evaluate(`{
      const { send } = WebSocket.prototype;
      globalThis.held = [];
      WebSocket.prototype.send = function (data) {
        if (!data.includes("session.approve")) return send.call(this, data);
        held.push(() => send.call(this, data));
      };
    }`);
    await allow.click();
    await app.holds("held.length === 1", "an answer on its way");
    const { approval_id } = asked.data as { approval_id: string };
    await it.call("session.approve", { approval_id, decision: "deny" });
    await page.getByText("No questions").waitFor();
    await page.evaluate("held[0]()");
    // Its session is no longer on the page.
    const late = page.locator(".approval-late", { hasText: "was already answered: deny" });
    await late.waitFor();
    await app.accessible("a late answer");
    // Another question takes nothing away.
    const second = await it.client.session({
      workdir: it.place.mkdir("other"),
      model: it.model,
      approval: "ask",
      title: "Second",
    });
    await it.client.rpc.call("session.send", { session_id: second, text: "two" });
    await page.locator(".tool-command", { hasText: "echo two" }).waitFor();
    assertEquals(await late.count(), 1);
    // The tab says so also while another one is looked at.
    await page.evaluate("Object.defineProperty(document, 'visibilityState', { value: 'hidden' })");
    await it.send("three");
    await app.holds("document.title.startsWith('(2)')", "the title");
    await late.getByRole("button", { name: "Dismiss" }).click();
    await late.waitFor({ state: "detached" });
    await app.focusKept();
    app.clean("a late answer");
  },
});
