/** A mission from a form: by its fields, as a text and back, kept by the browser, made of a conversation. */
import { assert, assertEquals } from "@std/assert";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Any = any;

Deno.test({
  name: "a mission is written in a form, shown as text and back, refused by field, and started",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/missions");
    const { page } = app;
    const dialog = page.getByRole("dialog", { name: "New mission" });
    const button = (name: string) => dialog.getByRole("button", { name, exact: true });
    const group = (name: string) => dialog.getByRole("group", { name, exact: true });
    const open = async () => {
      await page.getByRole("button", { name: "New mission" }).first().click();
      await dialog.waitFor();
    };
    const workdir = it.place.mkdir("made");

    await open();
    await dialog.getByLabel("Directory", { exact: true }).fill(workdir);
    await dialog.getByLabel("Goal").fill("Two files");
    await group("Task 1").getByLabel("Name").fill("The first one");
    await group("Task 1").getByLabel("Instructions").fill("run touch a.txt");
    await group("Task 1").getByText("Its id is the-first-one").waitFor();
    await button("Add a task").click();
    await group("Task 2").getByLabel("Name").waitFor();
    await app.focused("fieldset:nth-of-type(2) input");
    await page.keyboard.type("Second");
    await group("Task 2").getByLabel("Instructions").fill("run touch b.txt");
    await group("Task 2").getByText("Depends on no other task").click();
    await group("Task 2").getByLabel("the-first-one").check();
    await group("Task 2").getByText("Depends on the-first-one").waitFor();
    await button("Add a criterion").click();
    await group("Criterion 1").getByLabel("What must hold").fill("Both are there");
    await group("Criterion 1").getByLabel("Command").fill("test -f a.txt");
    await button("Add a criterion").click();
    await group("Criterion 2").getByLabel("What must hold").fill("The name fits");
    await group("Criterion 2").getByLabel("Checked by").selectOption("content_match");
    await group("Criterion 2").getByLabel("File").fill("a.txt");
    await group("Criterion 2").getByLabel("Pattern").fill("(");
    await app.accessibleEverywhere("a mission in a form");

    // What moves a task is in its head, not in a row of its own.
    const move = button("Move task 2 up");
    const [legend, tool, name] = await Promise.all(
      [group("Task 2").locator("legend"), move, group("Task 2").getByLabel("Name")]
        .map(async (it) => (await it.boundingBox())!),
    );
    assert(Math.abs(legend.y + legend.height / 2 - tool.y - tool.height / 2) < 6);
    assert(name.y - tool.y - tool.height < 48, `${name.y}, ${tool.y}`);

    // What is refused is said at its field.
    await button("Start mission").click();
    const pattern = group("Criterion 2").getByLabel("Pattern");
    await group("Criterion 2").getByRole("alert").waitFor();
    assertEquals(await pattern.getAttribute("aria-invalid"), "true");
    await app.accessible("a mission that is refused");
    await button("Remove criterion 2").click();
    await group("Criterion 2").waitFor({ state: "detached" });
    await app.focused(".spec-items:last-of-type .spec-add");

    // Moved, the dependency stays with its task.
    await button("Move task 2 up").click();
    await until(
      async () => await group("Task 1").getByLabel("Name").inputValue() === "Second",
      "the moved task",
    );
    await app.focused('[aria-label="Move task 1 up"]');
    assertEquals(await group("Task 1").getByText("Depends on the-first-one").count(), 1);

    await button("As text").click();
    const text = dialog.getByLabel("Statement of work");
    const written = await text.inputValue();
    assert(written.includes("name: Two files\n"), written);
    const read: Any = await it.client.rpc.call("mission.read_spec", { spec: written });
    assertEquals([read.issues, read.text_only], [[], []]);
    assertEquals(
      read.spec.sessions[0].tasks.map(({ id, dependencies }: Any) => [id, dependencies]),
      [
        ["second", ["the-first-one"]],
        ["the-first-one", undefined],
      ],
    );

    // What the form cannot show stays a text, and comes back with the page.
    const commented = `# mine\n${written}`;
    await text.fill(commented);
    await button("As a form").click();
    await dialog.getByRole("alert").getByText("It stays a text: the form cannot show comments")
      .waitFor();
    assertEquals(await text.inputValue(), commented);
    await page.reload();
    await open();
    assertEquals(await text.inputValue(), commented);
    await text.fill(written.replace("run touch b.txt", "run touch c.txt"));
    await button("As a form").click();
    assertEquals(await group("Task 1").getByLabel("Name").inputValue(), "Second");
    assertEquals(await group("Task 1").getByLabel("Instructions").inputValue(), "run touch c.txt");
    assertEquals(await group("Task 2").getByLabel("Name").inputValue(), "The first one");

    // Closed, it is kept, also after a restart of the daemon.
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await open();
    assertEquals(await dialog.getByLabel("Directory", { exact: true }).inputValue(), workdir);
    await dialog.getByRole("combobox", { name: "Model" }).fill("builtin/toolbelt");
    await dialog.getByLabel("without asking").check();
    await button("Start mission").click();
    await page.getByRole("heading", { level: 1, name: "Two files" }).waitFor();
    const { missions: [made] }: Any = await it.client.rpc.call("mission.list", {});
    assertEquals([made.name, made.workdir, made.tasks_total, made.criteria_total], [
      "Two files",
      workdir,
      2,
      1,
    ]);
    await app.go("/missions");
    await open();
    assertEquals(await dialog.getByLabel("Goal").inputValue(), "");
    await button("Fill in an example").click();
    await group("Task 3").waitFor();
    await button("Start over").click();
    await group("Task 3").waitFor({ state: "detached" });
    app.clean("a mission in a form");
  },
});

Deno.test({
  name: "a conversation becomes a mission: its directory, and the open steps of its plan",
  ignore: no_browser,
  async fn() {
    const steps = [
      { step: "Look around", state: "done" },
      { step: "Write the parser", state: "doing" },
      { step: "Test it", state: "pending" },
    ];
    await using it = await Scenario.begin([
      { text: ["Nothing planned."] },
      { calls: [{ id: "p1", name: "plan", args: { steps } }] },
      { text: ["Planned."] },
    ]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const dialog = page.getByRole("dialog", { name: "New mission" });
    const names = () =>
      dialog.getByLabel("Name", { exact: true }).evaluateAll((all) =>
        all.map((it) => (it as unknown as { value: string }).value)
      );
    const make = async () => {
      await app.go(`/sessions/${it.session_id}`);
      await page.getByRole("button", { name: "More", exact: true }).click();
      await page.getByRole("button", { name: "Make a mission of this" }).click();
      await dialog.waitFor();
    };
    await it.turn("Port the parser\nto the new grammar");
    await make();
    assertEquals(await names(), ["Port the parser"]);
    assertEquals(
      await dialog.getByLabel("Instructions").inputValue(),
      "Port the parser\nto the new grammar",
    );
    const { workdir }: Any = await it.call("session.get");
    assertEquals(await dialog.getByLabel("Directory", { exact: true }).inputValue(), workdir);

    await it.turn("plan it");
    await make();
    await until(async () => (await names()).length === 2, "the steps of the plan");
    assertEquals(await names(), ["Write the parser", "Test it"]);
    await dialog.getByText("Depends on write-the-parser").waitFor();
    // What was written of it survives a reload, and is not the draft of another mission.
    await dialog.getByLabel("Goal").fill("The new grammar");
    await page.reload();
    await dialog.waitFor();
    assertEquals(await dialog.getByLabel("Goal").inputValue(), "The new grammar");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "New mission" }).first().click();
    assertEquals(await dialog.getByLabel("Goal").inputValue(), "");
    await app.accessible("a mission of a conversation");
    app.clean("a mission of a conversation");
  },
});

Deno.test({
  name: "a form holds a thousand tasks, and draws the others of one that is opened",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/missions");
    const { page } = app;
    const dialog = page.getByRole("dialog", { name: "New mission" });
    const group = (name: string) => dialog.getByRole("group", { name, exact: true });
    const tasks = Array.from({ length: 1000 }, (_, n) => ({
      id: `t${n}`,
      description: `do ${n}`,
      dependencies: n === 0 ? [] : [`t${n - 1}`],
    }));
    await page.getByRole("button", { name: "New mission" }).first().click();
    await dialog.getByRole("button", { name: "As text" }).click();
    await dialog.getByLabel("Statement of work").fill(
      JSON.stringify({ id: "m", name: "Many", sessions: [{ id: "s", title: "S", tasks }] }),
    );
    await dialog.getByRole("button", { name: "As a form" }).click();
    await group("Task 1000").waitFor();
    assertEquals(await dialog.getByRole("checkbox").count(), 1);
    await group("Task 1000").getByText("Depends on t998").click();
    await group("Task 1000").getByLabel("t0", { exact: true }).check();
    await group("Task 1000").getByText("Depends on t0, t998").waitFor();
    assertEquals(await group("Task 1000").getByRole("checkbox").count(), 999);
    app.clean("a mission of a thousand tasks");
  },
});

Deno.test({
  name: "two tabs that write one mission keep a draft each, and say so",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const goalOf = ({ page }: AppPage) => page.getByRole("dialog").getByLabel("Goal");
    const open = async (app: AppPage) => {
      await app.page.getByRole("button", { name: "New mission" }).first().click();
      await goalOf(app).waitFor();
    };
    const one = await AppPage.open(browser, it.daemon, "/missions");
    const two = await AppPage.open(browser, it.daemon, "/missions");
    await open(one);
    await open(two);
    await goalOf(one).fill("of the first tab");
    const noticeOf = ({ page }: AppPage) =>
      page.getByRole("dialog").getByText("Another tab writes this mission too.");
    await noticeOf(two).waitFor();
    await goalOf(two).fill("of the second tab");
    assertEquals(await goalOf(one).inputValue(), "of the first tab");
    await two.accessible("a mission that two tabs write");
    await two.page.close();
    await one.page.reload();
    await one.connected();
    await open(one);
    assertEquals(await goalOf(one).inputValue(), "of the first tab");
    const exchange = one.page.getByRole("button", { name: "Show the other one" });
    for (const shown of ["of the second tab", "of the first tab"]) {
      await exchange.click();
      await until(async () => await goalOf(one).inputValue() === shown, shown);
    }
    await one.accessible("two drafts of a mission");
    one.clean("two drafts");
  },
});

Deno.test({
  name: "three tabs that write one mission keep a draft each, over a reload and a restart",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const goalOf = ({ page }: AppPage) => page.getByRole("dialog").getByLabel("Goal");
    const open = async (app: AppPage) => {
      await app.page.getByRole("button", { name: "New mission" }).first().click();
      await goalOf(app).waitFor();
    };
    const write = async (app: AppPage, goal: string) => {
      await goalOf(app).fill(goal);
      await until(async () => await goalOf(app).inputValue() === goal, goal);
    };
    const goals = ["of the first tab", "of the second tab", "of the third tab"];
    const tabs: AppPage[] = [];
    for (const goal of goals) {
      const tab = await AppPage.open(browser, it.daemon, "/missions");
      tabs.push(tab);
      await open(tab);
      // It begins empty: what another tab writes is that tab's.
      assertEquals(await goalOf(tab).inputValue(), "");
      await write(tab, goal);
    }
    const written = () => Promise.all(tabs.map((tab) => goalOf(tab).inputValue()));
    assertEquals(await written(), goals);
    await Promise.all(tabs.map(async (tab) => {
      await tab.page.reload();
      await tab.connected();
      await open(tab);
    }));
    assertEquals(await written(), goals);
    await it.restart();
    for (const [n, tab] of tabs.entries()) {
      await tab.connected();
      await write(tab, goals[n] += ", and more");
    }
    assertEquals(await written(), goals);

    // What the tabs leave is found in the next one, each once.
    for (const tab of tabs.slice(1)) await tab.page.close();
    const [last] = tabs;
    const exchange = last.page.getByRole("button", { name: "Show the other one" });
    await last.page.keyboard.press("Escape");
    await open(last);
    const shown = async () => {
      const found = [await goalOf(last).inputValue()];
      while (true) {
        await exchange.click();
        const before = found.at(-1);
        await until(async () => await goalOf(last).inputValue() !== before, "another draft");
        const goal = await goalOf(last).inputValue();
        if (goal === found[0]) return found.sort();
        found.push(goal);
      }
    };
    assertEquals(await shown(), [...goals].sort());
    // The one that is started goes, the others stay.
    const dialog = last.page.getByRole("dialog");
    await dialog.getByLabel("Directory", { exact: true }).fill(it.place.mkdir("made"));
    await dialog.getByLabel("Name", { exact: true }).fill("One");
    await dialog.getByLabel("Instructions").fill("run touch a.txt");
    await dialog.getByRole("button", { name: "Start mission" }).click();
    await last.page.getByRole("heading", { level: 1, name: goals[0] }).waitFor();
    await last.go("/missions");
    await open(last);
    assertEquals(await goalOf(last).inputValue(), "");
    await exchange.click();
    await until(async () => await goalOf(last).inputValue() !== "", "a draft that was left");
    assertEquals(await shown(), goals.slice(1).sort());
    assertEquals(last.problems.filter((it) => !/ERR_CONNECTION_REFUSED|WebSocket/.test(it)), []);
  },
});

Deno.test({
  name: "a mission is made of an ended session, and of a plan that means harm, as text alone",
  ignore: no_browser,
  async fn() {
    const steps = [
      { step: "<img src=x onerror=alert(1)>\u202egnp", state: "pending" },
      { step: "../../etc/passwd: [x](javascript:alert(1))", state: "pending" },
      { step: `__proto__ ${"long ".repeat(30)}`, state: "pending" },
      { step: "- *a\n- &a [*a, *a]", state: "doing" },
    ];
    await using it = await Scenario.begin([
      { calls: [{ id: "p1", name: "plan", args: { steps } }] },
      { text: ["Planned."] },
    ]);
    await it.turn("</textarea><script>alert(1)</script>");
    await it.call("session.kill");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const dialog = page.getByRole("dialog", { name: "New mission" });
    await page.getByText("This session has ended.").waitFor();
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("button", { name: "Make a mission of this" }).click();
    await dialog.waitFor();
    const named = dialog.getByLabel("Name", { exact: true });
    await until(async () => await named.count() === steps.length, "the steps of the plan");
    assertEquals(await dialog.locator("img, script, a[href^=javascript]").count(), 0);
    await dialog.getByRole("button", { name: "As text" }).click();
    const text = await dialog.getByLabel("Statement of work").inputValue();
    // It is read as it was written: no anchors, no other members.
    const { spec, issues }: Any = await it.client.rpc.call("mission.read_spec", { spec: text });
    assertEquals(issues, []);
    assertEquals(spec.sessions[0].tasks.length, steps.length);
    await app.accessible("a mission of a hostile plan");
    app.clean("a mission of a hostile plan");
  },
});
