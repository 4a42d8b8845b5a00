/** Cards of subagents and background commands: in their place, with output as it comes. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();
const AGENTS = 20;

/** Answers each conversation, known by its first message, with steps of its own. */
function conversations(steps: Record<string, readonly Answer[]>): Scripted {
  return ({ messages }) => {
    const first = messages.find(({ role }) => role === "user") as { text: string };
    const at = messages.filter(({ role }) => role === "assistant").length;
    return steps[first.text]?.[at] ?? { text: `nothing for ${first.text}` };
  };
}

const agent = (task: string) => ({
  id: `call_${task}`,
  name: "agent",
  args: { description: `work on ${task}`, task },
});
const run = (command: string, more: Record<string, unknown> = {}) => ({
  id: `call_${command.length}`,
  name: "run_command",
  args: { command, ...more },
});
const WAITS = "until test -e go; do sleep 0.05; done";

Deno.test({
  name: "a subagent's card follows its output, ends as one line, and is stopped by its button",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(conversations({
      go: [{ calls: [agent("one"), agent("two")] }, { text: "Both have ended." }],
      one: [{ text: "I look at <b>it</b>.", calls: [run(WAITS)] }, { text: "One is done." }],
      two: [{ text: "I wait.", calls: [run("sleep 600")] }, { text: "never" }],
    }));
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log", { name: "Conversation" });
    const card = (task: string) => log.locator(".tool", { hasText: `work on ${task}` });
    await it.send("go");
    await card("one").locator(".tool-tail").getByText("I look at <b>it</b>.").waitFor();
    await card("two").locator(".tool-tail").getByText("I wait.").waitFor();
    await card("one").locator(".tool-outcome").getByText(/^running · [\d.]+ s · .* tokens$/)
      .waitFor();
    await app.accessibleEverywhere("cards of subagents");
    await page.setViewportSize({ width: 1280, height: 800 });
    assertEquals(await card("one").getByRole("link", { name: "Open work on one" }).count(), 1);
    await card("two").getByRole("button", { name: "Stop work on two" }).click();
    await card("two").locator(".tool-outcome").getByText(/^stopped/).waitFor();
    await card("two").locator(".tool-tail").waitFor({ state: "detached" });
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await card("one").locator(".tool-result").getByText("One is done.").waitFor();
    await card("one").getByRole("button", { name: /^agent/ }).click();
    await card("one").locator(".tool-output").getByText("One is done.").waitFor();
    await card("one").getByRole("link", { name: "Open work on one" }).click();
    await page.getByRole("heading", { name: "agent: work on one" }).waitFor();
    app.clean("cards of subagents");
  },
});

Deno.test({
  name: "a background command's card shows its output live; after a crash it says that it is gone",
  ignore: no_browser,
  async fn() {
    const command = `echo begun; ${WAITS}; echo more; sleep 600`;
    await using it = await Scenario.begin([
      { calls: [run(command, { background: true })] },
      { text: "It runs." },
      { calls: [run("exit 3", { background: true })] },
      { text: "That failed." },
    ]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log", { name: "Conversation" });
    const card = log.locator(".tool", { hasText: "echo begun" });
    await card.locator(".tool-tail").getByText("begun").waitFor();
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await card.locator(".tool-tail").getByText("more").waitFor();
    await app.accessible("the card of a background command");
    await it.turn("again");
    await log.locator(".tool", { hasText: "exit 3" }).locator(".tool-outcome")
      .getByText(/^exit code 3 · /).waitFor();
    app.clean("the card of a background command");
    await it.restart();
    await app.connected();
    await card.locator(".tool-outcome").getByText(/^stopped, because svc stopped/).waitFor();
    await card.locator(".tool-tail").waitFor({ state: "detached" });
    await card.getByRole("button", { name: /^Stop/ }).waitFor({ state: "detached" });
  },
});

Deno.test({
  name: "an opened card of a background command has its output once, also when it ends",
  ignore: no_browser,
  async fn() {
    const command = `printf 'once \\342\\200\\256\\n'; ${WAITS}; echo last`;
    await using it = await Scenario.begin([
      { calls: [run(command, { background: true })] },
      { text: "It runs." },
    ]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const card = page.getByRole("log", { name: "Conversation" }).locator(".tool");
    const tail = card.locator(".tool-tail");
    await tail.getByText("once").waitFor();
    // Closed, then opened: it stays open at its end.
    const head = card.getByRole("button", { name: /^run_command/ });
    await head.click();
    await tail.waitFor({ state: "detached" });
    await head.click();
    await tail.getByText("once").waitFor();
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await card.locator(".tool-outcome").getByText(/^exit code 0 · |^done · |^ended/).waitFor();
    await tail.getByText("last").waitFor();
    await page.waitForTimeout(1_500);
    assertEquals(await tail.textContent(), "once \\u{202e}\nlast");
    app.clean("an opened card");
  },
});

Deno.test({
  name: `${AGENTS} subagents at once have a line each, and a crash of the daemon leaves none open`,
  ignore: no_browser,
  async fn() {
    const tasks = Array.from({ length: AGENTS }, (_, n) => `task${n}x`);
    await using it = await Scenario.begin(
      conversations({
        go: [{ calls: tasks.map(agent) }, { text: "never" }],
        ...Object.fromEntries(tasks.map((it) => [it, [{ text: `${it} says`, hang_after: 1 }]])),
      }),
      { toml: '[agent]\ncontinue = "never"\n[subagents]\nparallel = 20\n' },
    );
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log", { name: "Conversation" });
    await it.send("go");
    await until(
      () => Promise.resolve(it.client.of("session.tool_started").length === AGENTS),
      "all of them",
    );
    const card = (task: string) => log.locator(".tool", { hasText: `work on ${task}` });
    await card(tasks.at(-1)!).waitFor();
    await until(async () => await log.locator(".tool-tail").count() === 0, "lines alone");
    await app.accessible("many subagents");
    await card(tasks.at(-1)!).getByRole("button", { name: /^agent/ }).click();
    await card(tasks.at(-1)!).locator(".tool-body").waitFor();
    const height = await log.evaluate((it) => it.scrollHeight);
    assert(height < AGENTS * 120, `${height} px`);
    app.clean("many subagents");
    await it.restart();
    await app.connected();
    await card(tasks.at(-2)!).locator(".tool-result").getByText("interrupted, no result").waitFor();
    await log.getByRole("button", { name: /^Stop/ }).first().waitFor({ state: "detached" });
  },
});
