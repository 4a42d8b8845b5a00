/** How a question looks: what will be done, what that may do, and buttons that stay in sight. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { Locator, Page } from "playwright-core";
import { AskedPage } from "../support/asked_page.ts";
import type { Scripted } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import { httpEntry, policyOf } from "../support/tool_servers.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const LINES = Array.from({ length: 300 }, (_, n) => `line ${n}\n`).join("");
const BUTTONS = ["Allow", "Always…", "Deny", "Say what instead…"];
const SIZES = [[1440, 900], [1280, 560], [390, 844], [390, 560]] as const;

/** Waits until all buttons of the open question can be seen, whole, and pressed where they are. */
async function buttonsInSight(page: Page, what: string, names = BUTTONS): Promise<void> {
  const covered = () =>
    page.evaluate((names) => {
      // deno-lint-ignore no-explicit-any -- the page's globals
      const { document, innerHeight, innerWidth } = globalThis as any;
      const all = [
        ...document.querySelectorAll(".approval:not([hidden]) button"),
      ];
      return names.filter((name) => {
        // deno-lint-ignore no-explicit-any -- an element of the page
        const button = all.find((it: any) => it.textContent.startsWith(name));
        if (button === undefined) return true;
        const { left, right, top, bottom } = button.getBoundingClientRect();
        if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) return true;
        return [[left + 2, top + 2], [right - 2, bottom - 2]].some(([x, y]) =>
          !button.contains(document.elementFromPoint(x, y))
        );
      });
    }, names);
  let last: unknown;
  await until(
    async () => (last = await covered()) !== undefined && String(last) === "",
    `${what}: buttons in sight`,
  ).catch((error) => {
    throw new Error(`${what}: not in sight: ${last}`, { cause: error });
  });
}

Deno.test({
  name: "the buttons of a question stay in sight whatever it says and however small the window is",
  ignore: no_browser,
  async fn() {
    await using asked = await AskedPage.begin(shared, [
      { name: "write_file", args: { path: `${"deep/".repeat(20)}new.txt`, content: LINES } },
      { name: "run_command", args: { command: `echo ${"word ".repeat(2_000)}` } },
      { name: "run_command", args: { command: `echo ${"x".repeat(5_000)}` } },
    ]);
    const { page, app } = asked;
    for (const [n, what] of ["line 0", "word word", "xxxxx"].entries()) {
      const text = page.locator(".approval-text", { hasText: what });
      await text.waitFor();
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height });
        await buttonsInSight(page, `${what} at ${width} × ${height}`);
        const { height: room } = (await text.boundingBox())!;
        assert(room >= 50, `${what} at ${width} × ${height}: ${room} px for the text`);
      }
      assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 390);
      await app.accessible(what);
      await asked.button("Deny").click();
      await until(() => asked.decisions().length > n, "the answer");
    }
    app.clean("buttons");
  },
});

/** Three agents, each of which wants to run a command. */
const three: Scripted = ({ messages }) => {
  const { text } = messages.find(({ role }) => role === "user") as { text: string };
  const first = !messages.some(({ role }) => role === "assistant");
  if (!first) return { text: "The end." };
  if (text !== "go") {
    return { calls: [{ id: `c${text}`, name: "run_command", args: { command: `echo ${text}` } }] };
  }
  return {
    calls: ["one", "two", "three"].map((task) => ({
      id: task,
      name: "agent",
      args: { description: task, task },
    })),
  };
};

Deno.test({
  name: "several questions are a list with a count; the one that is open is answered",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(three, { start: { approval: "ask" } });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.send("go");
    const list = page.getByRole("list", { name: "Pending questions" });
    await list.getByRole("listitem").nth(2).waitFor();
    await page.getByText("1 of 3").waitFor();
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      await buttonsInSight(page, `three questions at ${width} × ${height}`);
      // What the buttons open takes nothing of them away.
      for (const [opens, submits] of [["Always…", "Allow always"], ["Say", "Deny and send"]]) {
        const button = page.getByRole("button", { name: opens });
        await button.click();
        const what = `${opens} of three at ${width} × ${height}`;
        await buttonsInSight(page, what, [...BUTTONS, submits]);
        await button.click();
      }
    }
    await app.accessibleEverywhere("three questions");
    const text = (await list.getByRole("listitem").nth(1).innerText()).replace(/\s+/g, " ");
    const word = /echo (\w+)/.exec(text)![1];
    await list.getByRole("button").nth(1).click();
    await page.getByText("2 of 3").waitFor();
    const open = page.locator(".approval:not([hidden])");
    assertEquals(await open.count(), 1);
    await open.locator(".tool-command", { hasText: `echo ${word}` }).waitFor();
    await open.getByRole("button", { name: "Deny" }).click();
    await page.getByText("1 of 2").waitFor();
    const [{ data: denied }] = it.client.of("approval.resolved");
    const asked = it.client.of("approval.requested")
      .find(({ data }) => data.approval_id === denied.approval_id)!;
    assertEquals([denied.decision, asked.data.args.command], ["deny", `echo ${word}`]);
    // The next one has the focus, so that its keys can be pressed.
    await app.focused(".approval:not([hidden]) .approval-text");
    await app.holds(
      "document.querySelector('.approval:not([hidden]) [aria-keyshortcuts=y]')" +
        ".ariaDisabled !== 'true'",
      "the next question can be answered",
    );
    await page.keyboard.press("y");
    await until(() => it.client.of("approval.resolved").length === 2, "the second answer");
    assertEquals(it.client.of("approval.resolved")[1].data.decision, "allow");
    app.clean("several questions");
  },
});

Deno.test({
  name: "keys answer a question once it can be answered, and never while somebody writes",
  ignore: no_browser,
  async fn() {
    const calls = ["one", "two", "three", "four"].map((word) => ({
      name: "run_command",
      args: { command: `echo ${word}` },
    }));
    await using asked = await AskedPage.begin(shared, calls, {}, true);
    const { page, app } = asked;
    const box = page.getByLabel("Message", { exact: true });
    // Not armed yet.
    await page.locator("h1").focus();
    await page.keyboard.press("y");
    assertEquals(await asked.after(1_000), true);
    assertEquals(asked.decisions(), []);
    await box.focus();
    await page.keyboard.type("yani");
    assertEquals(await box.inputValue(), "yani");
    assertEquals(asked.decisions(), []);
    await page.locator("h1").focus();
    await page.keyboard.press("Control+y");
    assertEquals(asked.decisions(), []);
    await page.clock.resume();
    await page.keyboard.press("y");
    const next = async (word: string) => {
      await page.locator(".tool-command", { hasText: `echo ${word}` }).waitFor();
      await page.locator(".approval button:not([aria-disabled])", { hasText: "Allow" }).waitFor();
      await page.locator("h1").focus();
    };
    await next("two");
    await page.keyboard.press("n");
    await next("three");
    await page.keyboard.press("i");
    await app.focused("[aria-label='What to do instead']");
    // The letter that opened it is not in it, and letters are letters there.
    await page.keyboard.type("any way you like");
    await page.keyboard.press("Enter");
    await next("four");
    await page.keyboard.press("a");
    await app.focused(".approval-more [type=radio]");
    await app.accessible("what to allow always");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("The end.").waitFor();
    const said = asked.it.client.of("approval.resolved")
      .map(({ data: { decision, message, always } }) => [decision, message ?? always?.scope]);
    assertEquals(said, [
      ["allow", undefined],
      ["deny", undefined],
      ["deny", "any way you like"],
      ["allow_always", "directory"],
    ]);
    app.clean("keys");
  },
});

Deno.test({
  name: "each kind of question says what will be done, where, and what that may do",
  ignore: no_browser,
  async fn() {
    const patch = [
      ...["*** Begin Patch", "*** Update File: old.txt", "@@", "-was", "+is"],
      ...["*** Delete File: gone.txt", "*** Add File: born.txt", "+hello", "*** End Patch", ""],
    ].join("\n");
    const gone = ["*** Begin Patch", "*** Delete File: gone.txt", "*** End Patch", ""].join("\n");
    const more = { network: true, paths: [{ path: "/usr/share" }], reason: "to look it up" };
    const kinds: [name: string, args: Record<string, unknown>, says: (string | RegExp)[]][] = [
      ["run_command", { command: "cat <<E\none\nE" }, [
        "Run this command?",
        /It can change and delete files|in no sandbox/,
        /cat <<E\s+one\s+E/,
      ]],
      ["run_command", { command: "ls", background: true }, ["Run this command in the background?"]],
      ["run_command", { command: "curl example.com", ...more }, ["Run this command?"]],
      ["edit_file", { path: "old.txt", old_text: "was", new_text: "is" }, [
        "Change this file?",
        "+1 −1",
      ]],
      ["write_file", { path: "old.txt", content: "other\n" }, [
        "Replace this file?",
        "The whole file is replaced.",
        "+1 −1",
      ]],
      ["write_file", { path: "new.txt", content: "new\n" }, ["Create this file?", "+1 −0"]],
      ["apply_patch", { patch }, [
        "Change these 3 files?",
        "1 file is deleted.",
        /old\.txt\s*\+1 −1/,
        /gone\.txt\s*Deleted/,
        /born\.txt\s*New file/,
      ]],
      ["apply_patch", { patch: gone }, ["Delete this file?"]],
      ["fetch_url", { url: "https://example.com/?q=secret" }, [
        "Fetch this address?",
        "The server there sees the whole address",
        "https://example.com/?q=secret",
      ]],
    ];
    await using asked = await AskedPage.begin(
      shared,
      kinds.map(([name, args]) => ({ name, args })),
      { "old.txt": "was\n", "gone.txt": "gone\n" },
    );
    const { page, app, it } = asked;
    for (const [n, [name, , says]] of kinds.entries()) {
      const request = await it.event(
        "approval.requested",
        () => it.client.of("approval.requested").length > n,
      );
      assert(request !== undefined);
      const open = page.locator(".approval");
      for (const text of [...says, `Directory ${it.workdir}`]) {
        await open.filter({ hasText: text }).waitFor().catch(async () => {
          throw new Error(`${n} ${name}: no ${text} in ${await open.innerText()}`);
        });
      }
      for (const [width, height] of [[1440, 900], [390, 844]]) {
        await page.setViewportSize({ width, height });
        await buttonsInSight(page, `${n} ${name} at ${width}`);
      }
      await app.accessible(`${n} ${name}`);
      await asked.button("Deny").click();
      await until(() => asked.decisions().length > n, "the answer");
      await page.locator(".approval button[aria-busy]").waitFor({ state: "detached" });
    }
    await page.getByRole("log").getByText("The end.").waitFor();
    assertEquals(Deno.readTextFileSync(join(it.workdir, "old.txt")), "was\n");
    app.clean("kinds");
  },
});

Deno.test({
  name: "a call of a server's tool says that svc cannot undo it, and shows its texts as texts",
  ignore: no_browser,
  async fn() {
    await using server = startHttpToolServer();
    const text = `first\nsecond ${"word ".repeat(200)}end`;
    await using it = await Scenario.begin([
      { calls: [{ name: "mcp_web_echo", args: { text } }] },
      { text: "The end." },
    ], { policy: policyOf(httpEntry("web", server.url)), start: { approval: "ask" } });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.send("go");
    await page.getByText("Call this tool of a server?").waitFor();
    await page.getByText("svc cannot check or undo what the server does.").waitFor();
    assertEquals(await page.locator(".approval-reason").innerText(), "echo of tool server web");
    assertEquals(await page.locator(".approval-args dd").innerText(), text);
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      await buttonsInSight(page, `a server's tool at ${width} × ${height}`);
    }
    await app.accessible("a server's tool");
    app.clean("a server's tool");
  },
});

Deno.test({
  name: "while a session with a question loads, nothing moves",
  ignore: no_browser,
  async fn() {
    const content = Array.from({ length: 20 }, (_, n) => `const x${n} = ${n};\n`).join("");
    await using asked = await AskedPage.begin(shared, [
      { name: "write_file", args: { path: "a.ts", content } },
    ]);
    const { page, app, it } = asked;
    await page.addInitScript(`{
      globalThis.shifted = 0;
      new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) globalThis.shifted += value;
      }).observe({ type: "layout-shift", buffered: true });
    }`);
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      await app.go(`/sessions/${it.session_id}`);
      await page.locator(".approval .hl-keyword").first().waitFor();
      // What was drawn last is known two frames later.
      await page.evaluate(
        "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
      );
      const shifted = await page.evaluate("shifted") as number;
      assert(shifted <= 0.02, `${width} × ${height}: ${shifted}`);
    }
  },
});

Deno.test({
  name: "a difference in a question has the numbers of its lines",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      {
        calls: [{
          name: "edit_file",
          args: { path: "a.txt", old_text: "line 20\n", new_text: "" },
        }],
      },
      { text: "Done." },
    ], { start: { approval: "ask" } });
    Deno.writeTextFileSync(join(it.workdir, "a.txt"), LINES);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    await it.send("go");
    const lines = app.page.locator(".approval-text .diff-line");
    await lines.first().waitFor();
    for (const [width, height] of SIZES) {
      await app.page.setViewportSize({ width, height });
      const numbers = lines.locator(".diff-number");
      assertEquals(await numbers.allInnerTexts(), ["18", "19", "20", "21", "21", "22", "23"]);
      const cut = await numbers.evaluateAll((all) =>
        all.filter((it) => it.scrollWidth > it.clientWidth).length
      );
      assertEquals(cut, 0, `numbers at ${width}`);
      assertEquals(await app.page.evaluate("document.documentElement.scrollWidth"), width);
    }
    await app.accessible("a difference with numbers");
    app.clean("a difference with numbers");
  },
});

Deno.test({
  name:
    "what may be allowed for good is whole beside the buttons, and waiting does not count as work",
  ignore: no_browser,
  async fn() {
    const args = { command: "npm install", network: true, reason: "to build" };
    await using asked = await AskedPage.begin(shared, [{ name: "run_command", args }]);
    const { page, app } = asked;
    await page.setViewportSize({ width: 1024, height: 768 });
    const rule = page.locator(".approval-rule", { hasText: "with network access" });
    assertEquals(await rule.evaluate((it) => it.scrollHeight - it.clientHeight), 0);

    await page.clock.fastForward(600_000);
    const line = page.locator(".working-line");
    await line.getByText("Waiting for you").waitFor();
    assert(!/min|h /.test(await line.innerText()), await line.innerText());
    await page.reload();
    await line.getByText("Waiting for you").waitFor();
    assert(!/min|h /.test(await line.innerText()), await line.innerText());

    // The menu at the window's edge ends where its button does.
    const more = page.getByRole("button", { name: "More", exact: true });
    await more.click();
    const end = async (it: Locator) => {
      const { x, width } = (await it.boundingBox())!;
      return Math.round(x + width);
    };
    const menu = page.locator(".popover:popover-open");
    await until(async () => await end(menu) === await end(more), "the menu in its place");
    app.clean("a question that waits");
  },
});
