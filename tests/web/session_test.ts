/** A person's way through a session, and that each verb tells the same. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { Place } from "../support/svc.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "a session by keyboard alone: create, send, approve, read, kill; the focus is never lost",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon);
    const { page } = app;
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    /** Tabs on until what has the focus is called so, and waits until it can be pressed. */
    const tabTo = async (name: RegExp) => {
      for (let n = 0; n < 90; n++) {
        const focused = await page.evaluate(() => {
          // deno-lint-ignore no-explicit-any -- the page's globals
          const { document } = globalThis as any;
          const { activeElement: it } = document;
          const label = it.labels?.[0]?.textContent ?? it.ariaLabel ?? it.textContent;
          return it === document.body ? "" : String(label);
        });
        if (name.test(focused)) {
          return await app.holds(
            "document.activeElement.ariaDisabled !== 'true'",
            `${name} to press`,
          );
        }
        await press("Tab");
      }
      throw new Error(`no ${name} within 90 tabs`);
    };
    await tabTo(/^New session$/);
    await press("Enter");
    await app.focused("#new-session");
    await page.keyboard.type("help");
    await tabTo(/^Directory: Choose a directory$/);
    await press("Enter");
    await app.focused("[role=combobox]");
    await page.keyboard.type(workdir);
    await page.getByRole("option", { name: workdir }).waitFor();
    await press("Enter");
    await app.focused("#new-session");
    await tabTo(/^Start$/);
    // Twice before there is an answer; there is one session at the end.
    await page.evaluate(() => {
      // deno-lint-ignore no-explicit-any -- the page's globals
      const { activeElement: button } = (globalThis as any).document;
      button.click();
      button.click();
    });
    await page.getByRole("heading", { level: 1, name: "help" }).waitFor();
    await page.getByRole("log").getByText("This is builtin/toolbelt").waitFor();
    await app.focusKept();

    await tabTo(/^Message$/);
    await page.keyboard.type("run echo one");
    await press("Control+Enter");
    await page.getByRole("button", { name: "Allow", exact: true }).waitFor();
    await app.focusKept();
    await tabTo(/^Allow\b/);
    await press("Enter");
    await page.getByRole("group", { name: "Output of run_command" }).getByText("one").waitFor();
    await page.getByText("exit 0").waitFor();
    await app.focusKept();
    await app.focused("#message");

    await press("ArrowUp");
    assertEquals(await page.getByLabel("Message", { exact: true }).inputValue(), "run echo one");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("run echo two");
    await press("Control+Enter");
    await page.getByRole("button", { name: "Deny" }).waitFor();
    await tabTo(/^Deny\b/);
    await press("Enter");
    await page.getByRole("log").getByText("denied", { exact: true }).waitFor();
    await app.focusKept();

    // The palette runs a verb without touching the mouse.
    await press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.type("session.pause");
    await page.getByRole("option", { name: /^session\.pause/ }).waitFor();
    await press("Enter");
    await app.focused("dialog form *");
    await press("Enter");
    await page.getByRole("status", { name: "Result" }).getByText("paused_at").waitFor();
    await press("Escape");
    await page.getByText("This session is paused").waitFor();
    await tabTo(/^Resume$/);
    await press("Enter");
    await page.getByLabel("Message", { exact: true }).waitFor();
    await app.focusKept();

    await tabTo(/^More$/);
    await press("Enter");
    await page.getByRole("button", { name: "Kill", exact: true }).waitFor();
    await tabTo(/^Kill$/);
    await press("Enter");
    await page.getByRole("dialog", { name: "Kill this session?" }).waitFor();
    await tabTo(/^Kill session$/);
    await press("Enter");
    await page.getByText("This session has ended.").waitFor();
    await app.focusKept();

    const { json } = await daemon.http("GET", "/v1/sessions?include_ended=true");
    assertEquals(json.sessions.map((it: { state: string }) => it.state), ["ended"]);
    app.clean("by keyboard");
  },
});

Deno.test({
  name: "each action of the app does what its verb does, and shows what the verb tells",
  ignore: no_browser,
  async fn() {
    const edit = { path: "a.txt", old_text: "old", new_text: "new" };
    await using it = await Scenario.begin([
      { text: "I look.", calls: [{ id: "c1", name: "read_file", args: { path: "a.txt" } }] },
      { text: "I mend.", calls: [{ id: "c2", name: "edit_file", args: edit }] },
      { text: "Mended." },
      { calls: [{ id: "c3", name: "run_command", args: { command: "echo out; sleep 60" } }] },
      { text: "Killed." },
      { text: ["slow "], hang_after: 1 },
    ], { start: { approval: "ask", title: "by the verbs" } });
    Deno.writeTextFileSync(join(it.workdir, "a.txt"), "old\n");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const get = () => it.call("session.get");

    // The list shows what session.list tells.
    const row = page.getByRole("row", { name: /by the verbs/ });
    for (const text of [it.model, "Idle", "$0.00"]) await row.getByText(text).first().waitFor();
    await page.getByRole("rowheader").getByText(it.workdir).waitFor();
    await page.getByLabel("Search sessions").fill("no such session");
    await page.getByText("No sessions match").waitFor();
    await page.getByLabel("Search sessions").fill("verbs");

    // The directory picker walks what daemon.list_dirs lists.
    await page.getByRole("button", { name: /^Directory:/ }).click();
    await page.getByRole("combobox", { name: "Directory" }).fill(`${it.place.dir}/`);
    const listed = await it.client.rpc.call("daemon.list_dirs", { path: it.place.dir });
    for (const { name } of listed.directories) {
      await page.getByRole("option", { name, exact: true }).waitFor();
    }
    await page.getByRole("option", { name: "project", exact: true }).click();
    await page.getByRole("option", { name: `project ${it.workdir}` }).click();
    await page.getByRole("button", { name: "Directory: project" }).waitFor();
    await page.getByLabel("Approvals").selectOption("read_only");
    await page.getByRole("button", { name: "Model: " }).click();
    await page.getByRole("combobox", { name: "Model" }).fill("toolbelt");
    await page.keyboard.press("Enter");
    await page.getByLabel("New session", { exact: true }).fill("made here");
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("made here").first().waitFor();
    const { sessions } = await it.client.rpc.call("session.list");
    const made = sessions.find((one: { id: string }) => one.id !== it.session_id);
    assertEquals(
      [made.workdir, made.approval, made.model],
      [it.workdir, "read_only", "builtin/toolbelt"],
    );
    assertEquals(page.url(), `${it.daemon.url}/sessions/${made.id}`);
    await page.goBack();
    await row.getByRole("link").click();

    // A message, an edit as a diff, an approval for good.
    await page.getByLabel("Message", { exact: true }).fill("mend it");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("group", { name: "Change of a.txt" }).getByText("new").waitFor();
    await page.getByText("Needs approval").first().waitFor();
    assertEquals((await get()).pending_approvals.length, 1);
    await page.getByRole("button", { name: "Always…", exact: true }).click();
    await page.getByRole("button", { name: "Allow always", exact: true }).click();
    await page.getByRole("log").getByText("Mended.").waitFor();
    assertEquals(Deno.readTextFileSync(join(it.workdir, "a.txt")), "new\n");
    assertEquals((await get()).pending_approvals, []);
    await shows(page, it);

    // Search finds what is there, and goes round.
    await page.getByRole("button", { name: "Search the conversation" }).click();
    await page.getByLabel("Search the conversation").last().fill("mend");
    await page.getByText("3", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("1 of 3").waitFor();
    await page.keyboard.press("Shift+Enter");
    await page.getByText("3 of 3").waitFor();
    await page.keyboard.press("Escape");

    // A long command has a lane: seen, pinned, killed.
    await page.getByLabel("Message", { exact: true }).fill("take long");
    await page.keyboard.press("Control+Enter");
    // A rule may be kept for more than this session.
    await page.getByRole("button", { name: "Always…", exact: true }).click();
    await page.getByLabel("exactly this command, this directory").check();
    await page.getByRole("button", { name: "Allow always", exact: true }).click();
    // The lanes take the place of another panel.
    const lanes = page.getByRole("button", { name: "Lanes", exact: true });
    await app.openPanel("Files");
    await page.getByRole("heading", { name: "Files", exact: true }).waitFor();
    await lanes.click();
    await page.getByRole("heading", { name: "Lanes", exact: true }).waitFor();
    assertEquals(await lanes.getAttribute("aria-expanded"), "true");
    assertEquals(await page.locator(".side-box").count(), 0);
    const { rules: [rule] } = await it.client.rpc.call("permissions.list");
    assertEquals([rule.scope, rule.directory], ["directory", it.workdir]);
    await page.getByRole("button", { name: /^Pin lane/ }).click();
    await page.getByRole("button", { name: /^Unpin lane/ }).waitFor();
    const [, lane] = (await it.call("lanes.list")).lanes;
    assertEquals([lane.kind, lane.pinned, lane.status], ["tool", true, "running"]);
    await page.getByRole("group", { name: "Output of run_command" }).getByText("out").waitFor();
    await page.getByRole("link", { name: lane.label }).click();
    await page.getByRole("heading", { level: 1, name: lane.label }).waitFor();
    await page.getByRole("group", { name: "Output" }).getByText("out").waitFor();
    await page.getByRole("button", { name: /^Kill lane/ }).click();
    await page.getByText("cancelled").waitFor();
    assertEquals((await it.call("lanes.get", { lane_id: lane.lane_id })).status, "cancelled");
    await page.getByRole("link", { name: "Go to the session" }).click();
    await page.getByRole("log").getByText("Killed.").waitFor();

    // A turn is cancelled, the session paused, resumed, killed.
    await page.getByLabel("Message", { exact: true }).fill("be slow");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("log").getByText("slow").last().waitFor();
    await page.getByRole("button", { name: "Cancel turn" }).click();
    await page.getByRole("log").getByText("Cancelled", { exact: true }).waitFor();
    assertEquals((await get()).activity, "idle");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("This session is paused").waitFor();
    assertEquals((await get()).state, "paused");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByLabel("Message", { exact: true }).waitFor();
    assertEquals((await get()).state, "running");
    await shows(page, it);

    // Any verb, with what the same call gives elsewhere.
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /^Action/ }).fill("session.get");
    await page.getByRole("option", { name: /^session\.get/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Run session.get" }).click();
    const said = JSON.parse((await page.getByRole("status", { name: "Result" }).textContent())!);
    assertEquals(said, await get());
    await page.getByRole("button", { name: "Back", exact: true }).click();
    await page.getByRole("combobox", { name: /^Action/ }).fill("session.subscribe");
    await page.getByRole("option", { name: /^session\.subscribe/ }).click();
    await page.getByLabel("Since position").fill("0");
    await page.getByRole("button", { name: "Run session.subscribe" }).click();
    await page.getByRole("status", { name: "Result" }).getByText("session.resumed").waitFor();
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Kill", exact: true }).click();
    await page.getByRole("button", { name: "Kill session" }).click();
    await page.getByText("This session has ended.").waitFor();
    assertEquals((await get()).state, "ended");
    await page.goto(`${it.daemon.url}/`);
    await page.getByLabel("Show ended").check();
    await row.getByText("Ended").waitFor();
    await page.goto(`${it.daemon.url}/sessions/sess_00000000000000000000000000`);
    await page.getByRole("alert").getByText("sess_00000000000000000000000000").waitFor();
    app.clean("all actions");
  },
});

/** Fails unless the conversation on the page is the one that session.transcript tells. */
async function shows(page: import("playwright-core").Page, it: Scenario): Promise<void> {
  const { messages } = await it.call("session.transcript");
  const text = (await page.getByRole("log").textContent())!;
  let at = 0;
  for (const message of messages) {
    const parts = message.role === "tool"
      ? []
      : [message.text, ...(message.calls ?? []).map((call: { tool: string }) => call.tool)];
    for (const part of parts.filter((part) => part !== "")) {
      const found = text.indexOf(part, at);
      assert(found >= 0, `${JSON.stringify(part)} is not shown after ${at} in ${text}`);
      at = found + part.length;
    }
  }
}

Deno.test({
  name: "/name sends the text of a command's file, and a mistaken name stays in the box",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Reviewed." }]);
    const commands = join(it.workdir, ".agents/commands");
    Deno.mkdirSync(commands, { recursive: true });
    Deno.writeTextFileSync(join(commands, "review.md"), "Review the branch $1.");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await app.go(`/sessions/${it.session_id}`);
    const box = page.getByLabel("Message", { exact: true });
    await box.fill("/reveiw main");
    await page.keyboard.press("Control+Enter");
    await page.getByText("unknown command /reveiw").first().waitFor();
    assertEquals(await box.inputValue(), "/reveiw main");
    await box.fill("/review main");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("log").getByText("Reviewed.").waitFor();
    await page.getByRole("log").getByText("Review the branch main.").waitFor();
    assertEquals(it.server.requests.length, 1);
  },
});
