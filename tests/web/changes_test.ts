/** The panel of what a session changed. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Browser } from "../support/browser.ts";
import { hasProgram } from "../support/programs.ts";
import { Repository } from "../support/repository.ts";
import { Scenario, until } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";
import { scene, write } from "./changes_scene.ts";

const ignore = no_browser || !hasProgram("git");

/** The numbers and the text of each line that is drawn. */
const LINES = `[...document.querySelectorAll(".change-line")].map((it) =>
  [...it.querySelectorAll(".change-number")].map((n) => n.textContent).join("|") +
  " " + it.querySelector(".change-sign").textContent + it.querySelector("code").textContent)`;

async function openChanges(app: AppPage) {
  await app.openPanel("Changes");
  const grid = app.page.getByRole("grid", { name: "Changed files" });
  await grid.waitFor();
  return grid;
}

Deno.test({
  name: "files are shown with their lines, by session, turn and commit, and committed in part",
  ignore,
  async fn() {
    using repository = new Repository(scene.before);
    await using it = await Scenario.begin([
      { calls: scene.first },
      { text: "done" },
      { calls: scene.second },
      { text: "done again" },
    ], { start: { workdir: repository.root } });
    await it.turn("first");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const grid = await openChanges(app);
    const head = (path: string) => grid.locator(".change-file", { hasText: path });
    await head("parser_test.ts").getByText("new", { exact: true }).waitFor();
    await head("manual.md").getByText("from docs/guide.md").waitFor();
    await head("notes.txt").getByText("deleted").waitFor();
    await grid.getByText("This file is not text.").waitFor();
    assertEquals(await grid.locator(".change-file").count(), 5);
    await app.holds(`${LINES}.includes("|5 +  /** Shown with --help. */")`, "an added line");
    // The panel follows the next turn by itself, and the last turn can be shown alone.
    await it.turn("second");
    await head("README.md").waitFor();
    await app.holds(`${LINES}.includes("3| −Reads files.")`, "a removed line");
    assertEquals(await grid.locator("mark").first().textContent(), " `--verbose` tells more.");
    const scope = page.getByLabel("What is compared");
    await scope.selectOption("Last turn");
    await head("README.md").waitFor();
    assertEquals(await grid.locator(".change-file").count(), 1);
    await scope.selectOption("Not committed");
    await head("notes.txt").waitFor();
    // Git has not been told of the new name.
    await page.getByLabel("Go to a file").locator("option").nth(7).waitFor({ state: "attached" });
    await app.accessibleEverywhere("what is not committed");

    // Unchanged lines come when they are asked for.
    await page.getByRole("button", { name: "Use the whole width" }).click();
    await page.getByLabel("Go to a file").selectOption("src/options/parser.ts");
    await grid.getByRole("button", { name: "Show 20 more lines" }).first().click();
    await app.holds(`${LINES}.includes("27|29  const default_18 = 18;")`, "more lines");
    await page.getByRole("button", { name: "Side by side" }).click();
    await grid.locator(".change-code.none").first().waitFor();
    await app.accessible("side by side");

    await page.getByLabel("Go to a file").selectOption("README.md");
    await page.getByLabel("Open files in").selectOption("Zed");
    const link = head("README.md").getByRole("link", { name: "Open README.md in Zed" });
    assertEquals(await link.getAttribute("href"), `zed://file${repository.root}/README.md:3`);

    await page.getByRole("button", { name: "Commit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Commit" });
    await dialog.getByLabel("Message").fill("Tell of --verbose");
    for (const path of ["data.bin", "docs/guide.md", "docs/manual.md", "notes.txt"]) {
      await dialog.getByLabel(path).uncheck();
    }
    await dialog.getByText("3 of 7 files").waitFor();
    await app.accessible("a commit");
    await dialog.getByRole("button", { name: "Commit" }).click();
    await page.getByText(/^Committed as [0-9a-f]{10}$/).waitFor();
    assertEquals(repository.git("log", "-1", "--format=%s"), "Tell of --verbose");
    await head("README.md").waitFor({ state: "detached" });
    await page.locator(".change-sum", { hasText: "4 files" }).waitFor();
    app.clean("changes");
  },
});

Deno.test({
  name:
    "comments are written by mouse and keyboard, outlive a restart, and are sent as one message",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [write("a.ts", "const one = 1;\nconst two = 2;\nconst three = 3;\n")] },
      { text: "done" },
      { text: "I have read your comments." },
    ]);
    await it.turn("write");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    let grid = await openChanges(app);
    await grid.locator(".change-line").nth(1).locator(".change-number").last().click();
    const box = page.getByRole("textbox", { name: "Comment on line 2" });
    await app.focused("textarea");
    await box.fill("Why two?");
    await app.accessible("a comment that is written");
    await page.getByRole("button", { name: "Keep comment" }).click();
    // By keyboard: the lines one and two.
    await grid.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Shift+ArrowDown");
    await page.getByRole("button", { name: "Comment on lines 1–2" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Comment on lines 1–2" }).fill("One file?");
    await page.keyboard.press("Control+Enter");
    await grid.getByText("One file?").waitFor();
    await page.getByRole("button", { name: "Send 2 comments" }).waitFor();

    const { port } = new URL(it.daemon.url);
    await page.goto("about:blank");
    await it.restart();
    await page.goto(`${it.daemon.url}/sessions/${it.session_id}`);
    assertEquals(new URL(it.daemon.url).port, port);
    grid = await openChanges(app);
    await grid.getByText("Why two?").waitFor();
    await app.accessible("comments");
    // Another tab has them too, and sends none twice.
    const other = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    await openChanges(other);
    await Promise.all([app, other].map(async ({ page }) => {
      const send = page.getByRole("button", { name: "Send 2 comments" });
      await send.waitFor();
      await send.evaluate((it) => (it as unknown as { click(): void }).click());
    }));
    await other.page.getByRole("button", { name: /^Send \d/ }).waitFor({ state: "detached" });
    other.clean("comments in another tab");
    await page.getByRole("log").getByText("I have read your comments.").waitFor();
    const { messages } = await it.call("session.transcript");
    const all = messages.filter(({ role }: { role: string }) => role === "user").map(
      (it: unknown) => JSON.stringify(it),
    );
    assertEquals(all.filter((it: string) => it.includes("comments on the changes")).length, 1);
    const text = all.at(-1)!;
    assert(text.includes("2 comments on the changes:"), text);
    assert(
      text.includes("a.ts, lines 1–2:\\n```\\nconst one = 1;\\nconst two = 2;\\n```\\nOne file?"),
      text,
    );
    assert(text.includes("a.ts, line 2:\\n```\\nconst two = 2;\\n```\\nWhy two?"), text);
    await page.getByRole("button", { name: /^Send \d/ }).waitFor({ state: "detached" });
    assertEquals(await grid.locator(".change-comment").count(), 0);
    app.clean("comments");
  },
});

Deno.test({
  name: "a comment that is being written is kept, whatever closes its box",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [write("a.ts", "one\ntwo\nthree\nfour\nfive\n")] },
      { text: "done" },
      { text: "read" },
    ]);
    await it.turn("write");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const grid = await openChanges(app);
    const number = (line: number) =>
      grid.locator(".change-line").nth(line - 1).locator(".change-number").last();
    const begin = async (line: number, text: string) => {
      await number(line).click();
      await page.getByRole("textbox", { name: `Comment on line ${line}` }).fill(text);
    };
    const kept = (text: string) => grid.locator(".change-said", { hasText: text }).waitFor();
    await begin(1, "By a click");
    await grid.locator(".change-code", { hasText: "five" }).click();
    await kept("By a click");
    // The box beside another line begins empty.
    await begin(2, "By another box");
    await number(3).click();
    await kept("By another box");
    const third = page.getByRole("textbox", { name: "Comment on line 3" });
    assertEquals(await third.inputValue(), "");
    await third.fill("By Escape");
    await third.press("Escape");
    await kept("By Escape");
    await app.focused(".change-list");
    await begin(4, "By the scope");
    await page.getByLabel("What is compared").selectOption("Last turn");
    await kept("By the scope");
    await begin(5, "By the panel");
    await page.getByRole("button", { name: "Close changes" }).click();
    await openChanges(app);
    await kept("By the panel");
    await page.getByRole("button", { name: "Change the comment" }).first().click();
    const first = page.getByRole("textbox", { name: "Comment on line 1" });
    await first.fill("By a reload");
    await page.reload();
    await openChanges(app);
    await kept("By a reload");
    await page.getByRole("button", { name: "Send 5 comments" }).waitFor();
    // With nothing in it, Escape only closes it.
    await page.getByRole("button", { name: "Delete the comment" }).last().click();
    await number(5).click();
    await page.getByRole("textbox", { name: "Comment on line 5" }).press("Escape");
    await page.getByRole("button", { name: "Send 4 comments" }).waitFor();
    await grid.waitFor();
    // What is changed in a box is sent with the others.
    await page.getByRole("button", { name: "Change the comment" }).first().click();
    await first.fill("By sending");
    await page.getByRole("button", { name: "Send 4 comments" }).click();
    await page.getByRole("log").getByText("read", { exact: true }).waitFor();
    assertStringIncludes(JSON.stringify(it.server.requests.at(-1)!.body.messages), "By sending");
    app.clean("kept comments");
  },
});

Deno.test({
  name: "comments on files that are no longer listed are shown, changed, deleted and sent",
  ignore,
  async fn() {
    using repository = new Repository({ "kept.txt": "old\n" });
    await using it = await Scenario.begin([
      { calls: [write("a.ts", "one\ntwo\n"), write("b.ts", "three\nfour\n")] },
      { text: "done" },
      { text: "read" },
    ], { start: { workdir: repository.root } });
    await it.turn("write");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const grid = await openChanges(app);
    const scope = page.getByLabel("What is compared");
    await scope.selectOption("Not committed");
    const line = (text: string) => grid.locator(".change-line", { hasText: text });
    const comment = async (text: string, said: string) => {
      await line(text).locator(".change-number").last().click();
      await page.keyboard.insertText(said);
      await page.keyboard.press("Control+Enter");
      await grid.locator(".change-said", { hasText: said }).waitFor();
    };
    await comment("one", "About one");
    await comment("two", "About two");
    await comment("three", "About three");
    // A collapsed file shows them too.
    await grid.locator(".change-toggle", { hasText: "b.ts" }).click();
    await line("three").waitFor({ state: "detached" });
    await grid.locator(".change-said", { hasText: "About three" }).waitFor();

    await line("two").locator(".change-number").last().click();
    await page.keyboard.insertText("Not finished");
    repository.git("add", "a.ts");
    repository.git("commit", "--quiet", "-m", "one");
    await app.look();
    const unlisted = page.getByRole("region", { name: "Comments on files that are not listed" });
    await unlisted.locator(".change-said", { hasText: "Not finished" }).waitFor();
    await app.focusKept();
    assertEquals(await unlisted.locator(".change-about").allTextContents(), [
      "Comments on files that are not listed",
      "Comment on a.ts, line 1",
      "Comment on a.ts, line 2",
      "Comment on a.ts, line 2",
    ]);
    await page.getByRole("button", { name: "Send 4 comments" }).waitFor();
    await app.accessibleEverywhere("comments on files that are not listed");
    await unlisted.getByRole("button", { name: "Change the comment" }).first().click();
    await page.getByRole("textbox", { name: "Comment on a.ts, line 1" }).fill("First");
    await app.accessible("a comment that is changed");
    await page.getByRole("button", { name: "Keep comment" }).click();
    await unlisted.locator(".change-said", { hasText: "First" }).waitFor();
    await unlisted.getByRole("button", { name: "Delete the comment" }).nth(1).click();
    // Nothing is listed at all.
    repository.git("add", ".");
    repository.git("commit", "--quiet", "-m", "all");
    await app.look();
    await page.getByText("Everything is committed.").waitFor();
    assertEquals(await unlisted.locator(".change-said").allTextContents(), [
      "First",
      "About three",
      "Not finished",
    ]);
    // What another tab writes or deletes is seen.
    const other = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const there = await openChanges(other);
    await there.locator(".change-said", { hasText: "Not finished" }).waitFor();
    const deleted = there.locator(".change-comment-cell", { hasText: "Not finished" });
    await deleted.getByRole("button", { name: "Delete the comment" }).click();
    // What is being written about it here is kept.
    await other.page.getByRole("button", { name: "Change the comment" }).first().click();
    await other.page.getByRole("textbox", { name: "Comment on line 1" }).fill("Still here");
    await unlisted.locator(".change-comment-cell", { hasText: "First" })
      .getByRole("button", { name: "Delete the comment" }).click();
    await unlisted.locator(".change-said", { hasText: "Still here" }).waitFor();
    await unlisted.locator(".change-said", { hasText: "First" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Send 2 comments" }).click();
    await page.getByRole("log").getByText("read", { exact: true }).waitFor();
    const sent = JSON.stringify(it.server.requests.at(-1)!.body.messages.at(-1));
    assertStringIncludes(sent, "a.ts, line 1:\\n```\\none\\n```\\nStill here");
    assertStringIncludes(sent, "About three");
    assert(!sent.includes("Not finished"), sent);
    await unlisted.waitFor({ state: "detached" });
    app.clean("comments on files that are not listed");
    other.clean("the same in another tab");
  },
});

Deno.test({
  name: "a page that comes back as it was has an open comment once",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [write("a.ts", "one\ntwo\n")] },
      { text: "done" },
    ]);
    await it.turn("write");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const grid = await openChanges(app);
    await grid.locator(".change-line").first().locator(".change-number").last().click();
    await page.getByRole("textbox", { name: "Comment on line 1" }).fill("Once");
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await grid.locator(".change-said", { hasText: "Once" }).waitFor();
    assertEquals(await page.getByRole("textbox", { name: "Comment on line 1" }).count(), 0);
    const stored = await page.evaluate(`localStorage["svc.comments.${it.session_id}"]`);
    const [{ id: _, ...comment }, ...more] = JSON.parse(stored as string);
    assertEquals([comment, more], [
      { path: "a.ts", side: "new", from: 1, to: 1, quote: "one", text: "Once" },
      [],
    ]);
    app.clean("a page that comes back");
  },
});

Deno.test({
  name: "what is read stays in its place while the agent changes files above it",
  ignore,
  async fn() {
    const lines = (count: number) =>
      Array.from({ length: count }, (_, n) => `line ${n}\n`).join("");
    const wait = (name: string) => ({
      name: "run_command",
      args: { command: `until test -e ${name}; do sleep 0.05; done` },
    });
    await using it = await Scenario.begin([
      { calls: [write("b.txt", lines(100)), write("c.txt", lines(100))] },
      { calls: [wait("go")] },
      { calls: [write("a.txt", lines(50)), write("b.txt", `new\n${lines(100)}`)] },
      { calls: [wait("end")] },
      { text: "done" },
    ]);
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.send("go");
    const grid = await openChanges(app);
    await grid.locator(".change-line").first().waitFor();
    const read = grid.locator(".change-line", { hasText: /line 80$/ }).last();
    // What is below is loaded when it comes into sight.
    await until(async () => {
      await grid.evaluate((it) => it.scrollTop = 3_300);
      return await grid.evaluate((it) => it.scrollTop === 3_300) && await read.isVisible();
    }, "the lines below");
    const top = async () => Math.round((await read.boundingBox())!.y);
    const before = await top();
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await page.locator(".change-sum", { hasText: "4 files" }).waitFor();
    await page.waitForTimeout(1_500);
    assertEquals(await top(), before);
    Deno.writeTextFileSync(join(it.workdir, "end"), "");
    await it.event("turn.completed");
    app.clean("following");
  },
});

Deno.test({
  name: "a file and a turn are undone after a question, and what others changed is kept",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [write("a.txt", "one\n"), write("b.txt", "one\n")] },
      { text: "done" },
      { calls: [write("a.txt", "two\n"), write("b.txt", "two\n")] },
      { text: "done" },
    ]);
    const read = (name: string) => Deno.readTextFileSync(join(it.workdir, name));
    await it.turn("one");
    await it.turn("two");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await openChanges(app);
    await page.getByRole("button", { name: "Undo the change of a.txt" }).click();
    const file = page.getByRole("dialog", { name: "Undo the change of this file?" });
    await file.getByText("1 file back").waitFor();
    await app.accessible("an undo");
    assertEquals(read("a.txt"), "two\n");
    await file.getByRole("button", { name: "Undo" }).click();
    await page.locator(".change-told", { hasText: "1 file back" }).waitFor();
    assertEquals([read("a.txt"), read("b.txt")], ["one\n", "two\n"]);

    Deno.writeTextFileSync(join(it.workdir, "b.txt"), "mine\n");
    await page.getByLabel("What is compared").selectOption("Last turn");
    await page.getByRole("button", { name: "Undo the turn" }).click();
    const turn = page.getByRole("dialog", { name: "Undo this turn’s changes?" });
    await turn.getByText("Changed since by you or another program").waitFor();
    await turn.getByRole("button", { name: "Undo" }).click();
    await page.locator(".change-told", { hasText: "kept b.txt" }).waitFor();
    assertEquals([read("a.txt"), read("b.txt")], ["one\n", "mine\n"]);
    app.clean("undo");
  },
});

Deno.test({
  name:
    "ten thousand lines, a line of half a megabyte and hostile names stay usable, also on a phone",
  ignore,
  async fn() {
    const many = Array.from({ length: 10_000 }, (_, n) => `const value_${n} = ${n};\n`).join("");
    await using it = await Scenario.begin([
      {
        calls: [
          write("many.ts", many),
          write("one.json", JSON.stringify({ text: "x".repeat(500_000) })),
          write("<img src=x onerror=alert(1)>\u202e.txt", "<b>bold</b>\u202e\n"),
        ],
      },
      { text: "done" },
    ]);
    await it.turn("write");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.setViewportSize({ width: 390, height: 844 });
    const grid = await openChanges(app);
    await grid.getByText("<b>bold</b>\\u{202e}").waitFor();
    await grid.getByText(/^4980\d\d more characters$/).waitFor();
    // The conversation is covered.
    assertEquals(await page.getByLabel("Message", { exact: true }).isVisible(), false);
    const head = grid.locator(".change-toggle", { hasText: "many.ts" });
    assertEquals(await head.getAttribute("aria-expanded"), "false");
    const from = performance.now();
    await head.click();
    await app.holds(`${LINES}.some((it) => it.includes("const value_0 = 0;"))`, "the first lines");
    assert(performance.now() - from < 10_000);
    assert(await grid.locator(".change-line").count() < 200);
    const height = await grid.evaluate((it) => it.scrollHeight);
    assert(height > 10_000 * 20, String(height));
    await grid.evaluate((it) => it.scrollTop = 100_000);
    await app.holds(`${LINES}.some((it) => /const value_4[89]\\d\\d/.test(it))`, "the middle");
    assertEquals(
      await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
      true,
    );
    await app.accessible("changes on a phone");
    await page.keyboard.press("Escape");
    await grid.waitFor({ state: "detached" });
    await app.focused(".page-actions [popovertarget]");
    app.clean("large changes");
  },
});

Deno.test({
  name: "a worktree is merged, also after a refusal, and a question behind the panel is named",
  ignore,
  async fn() {
    using repository = new Repository({ "a.txt": "one\n" });
    await using it = await Scenario.begin([
      { calls: [write("b.txt", "two\n")] },
      { text: "done" },
    ], { start: { workdir: repository.root } });
    const { rpc } = it.client;
    const workdir = repository.root;
    const { path } = await rpc.call("worktree.create", { workdir, name: "side" });
    const { session_id } = await rpc.call("session.start", {
      workdir: path,
      model: it.model,
      approval: "ask",
    });
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${session_id}`);
    const { page } = app;
    await page.setViewportSize({ width: 768, height: 900 });
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.getByText("Files that this session changes appear here.").waitFor();
    await rpc.call("session.send", { session_id, text: "write it" });
    await page.getByText("A question waits for you.").waitFor();
    await app.accessible("a question behind the panel");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    const { approvals } = await rpc.call("approvals.list", {});
    const { approval_id } = approvals[0];
    await rpc.call("session.approve", { session_id, approval_id, decision: "allow" });
    await page.getByRole("log").getByText("done", { exact: true }).waitFor();
    const grid = await openChanges(app);
    await grid.getByText("b.txt").waitFor();

    // The checkout has moved on: it cannot be moved forward.
    repository.write({ "c.txt": "three\n" });
    repository.commit("beside");
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Merge this worktree" });
    await dialog.getByLabel("How").selectOption("ff-only");
    await dialog.getByRole("button", { name: "Merge" }).click();
    await dialog.getByText(/^Not merged/).waitFor();
    await app.accessible("a merge that was refused");
    await dialog.getByLabel("How").selectOption("squash");
    await dialog.getByLabel("Message").fill("Bring b");
    await dialog.getByRole("button", { name: "Merge" }).click();
    await page.getByText(/^Merged svc\/side as [0-9a-f]{10}$/).waitFor();
    assertEquals(repository.git("log", "-1", "--format=%s"), "Bring b");
    assertEquals(Deno.readTextFileSync(join(workdir, "b.txt")), "two\n");
    app.clean("a merge");
  },
});
