/** The palette begins with what people do. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "by keyboard: switch the model, rewind, stop, go to a session, the settings, a new session",
  ignore: no_browser,
  async fn() {
    const write = { name: "write_file", args: { path: "a.txt", content: "new\n" } };
    const wait = { name: "run_command", args: { command: "sleep 60" } };
    await using it = await Scenario.begin(
      [{ calls: [write] }, { text: "Written." }, { calls: [wait] }, { text: "Late." }],
      { start: { title: "Here" } },
    );
    await it.client.session({ workdir: it.place.mkdir("other"), title: "There", model: it.model });
    await it.turn("write it");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const run = async (words: string, option: RegExp) => {
      await page.keyboard.press("Control+k");
      await app.focused("dialog input");
      await page.keyboard.type(words);
      await page.getByRole("option", { name: option, selected: true }).waitFor();
      await page.keyboard.press("Enter");
    };
    await page.getByRole("log").getByText("Written.").waitFor();

    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: /^session\.start/ }).waitFor();
    assertEquals(
      await page.getByRole("option").locator(".palette-label").first().textContent(),
      "New session",
    );
    await app.accessibleEverywhere("the palette");
    // Forced colours take the ground of what is chosen: it has a line.
    await page.emulateMedia({ forcedColors: "active" });
    const lined = (selected: boolean) =>
      page.getByRole("dialog").getByRole("option", { selected }).first().evaluate(
        // deno-lint-ignore no-explicit-any -- the page's globals
        (it) => (globalThis as any).getComputedStyle(it).outlineStyle,
      );
    assertEquals([await lined(true), await lined(false)], ["solid", "none"]);
    await page.emulateMedia({ forcedColors: "none" });
    await page.keyboard.press("Escape");

    await run("rewind", /^Rewind the last turn/);
    await until(
      () => !Array.from(Deno.readDirSync(it.workdir)).some(({ name }) => name === "a.txt"),
      "the files as they were",
    );

    await it.send("and wait");
    await page.getByRole("button", { name: "Cancel turn" }).waitFor();
    // The sidebar has its answers from the same list.
    await page.locator(".recent a", { hasText: "Here" }).locator(".dot.working").waitFor();
    await run("stop", /^Stop/);
    await until(async () => (await it.call("session.get")).activity === "idle", "the end");

    await run("switch", /^Switch model/);
    await page.getByRole("option", { name: /^builtin\/toolbelt/ }).waitFor();
    await app.accessible("the models of the palette");
    await page.keyboard.type("toolbelt");
    await page.keyboard.press("Enter");
    await until(
      async () => (await it.call("session.get")).model === "builtin/toolbelt",
      "another model",
    );

    await run("There", /^There/);
    await page.getByRole("heading", { level: 1, name: "There" }).waitFor();
    await run("settings", /^Open settings/);
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await run("new", /^New session/);
    await app.focused("#new-session");
    app.clean("the palette");
  },
});

Deno.test({
  name: "what is chosen stays so when a turn ends: Enter never runs its neighbour",
  ignore: no_browser,
  async fn() {
    const write = { name: "write_file", args: { path: "a.txt", content: "new\n" } };
    const wait = { name: "run_command", args: { command: "sleep 60" } };
    await using it = await Scenario.begin(
      [{ calls: [write] }, { text: "Written." }, { calls: [wait] }, { text: "Late." }],
      { start: { title: "Here" } },
    );
    await it.turn("write it");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.send("and wait");
    await page.locator(".recent a", { hasText: "Here" }).locator(".dot.working").waitFor();
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.type("turn");
    await page.getByRole("option", { name: /^Stop/, selected: true }).waitFor();
    await it.call("session.cancel");
    await page.getByRole("option", { name: /^Stop/ }).waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    assertEquals(await page.locator(".palette [aria-selected=true]").count(), 0);
    assertEquals(Deno.readTextFileSync(`${it.workdir}/a.txt`), "new\n");
    // The arrows choose again.
    await page.keyboard.press("ArrowDown");
    await page.getByRole("option", { name: /^Rewind/, selected: true }).waitFor();
  },
});

Deno.test({
  name: "a key that is typed into the form of a verb is not shown",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.type("models.save_key");
    await page.getByRole("option", { name: /^models\.save_key/, selected: true }).waitFor();
    await page.keyboard.press("Enter");
    assertEquals(await page.getByLabel("Key", { exact: true }).getAttribute("type"), "password");
    assertEquals(await page.getByLabel("Provider").getAttribute("type"), "text");
    await app.accessible("the form of a verb with a secret");
  },
});

Deno.test({
  name: "a file is opened by parts of its name, in the files beside the conversation",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Hello." }]);
    const deep = join(it.workdir, "src", "deep");
    Deno.mkdirSync(deep, { recursive: true });
    for (let n = 0; n < 200; n++) Deno.writeTextFileSync(join(deep, `file${n}.ts`), `// ${n}\n`);
    Deno.writeTextFileSync(join(deep, "zebra_stripes.ts"), "const stripes = 12;\n");
    Deno.writeTextFileSync(join(it.workdir, "<b>\u202egnp.exe"), "hostile\n");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/");
    const { page } = app;
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.type("open file…");
    await page.locator(".palette-none").waitFor();
    await page.keyboard.press("Escape");

    await app.go(`/sessions/${it.session_id}`);
    const open = async (words: string) => {
      await page.keyboard.press("Control+k");
      await app.focused("dialog input");
      await page.keyboard.type("open file");
      await page.getByRole("option", { name: /^Open file/, selected: true }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "Open file" }).waitFor();
      await app.focused("dialog input");
      await page.locator("dialog [role=option]").first().waitFor();
      if (words === "") return;
      // Enter means what was typed, whether or not it has been found yet.
      await page.keyboard.type(words);
      await page.keyboard.press("Enter");
    };
    await open("zebstr");
    await page.getByRole("region", { name: "Text of src/deep/zebra_stripes.ts" })
      .getByText("stripes").waitFor();
    await app.focused("#file-heading");
    await page.getByRole("button", { name: "Back to the files" }).click();
    const row = page.locator(".tree-row.active", { hasText: "zebra_stripes.ts" });
    await row.waitFor();
    await until(
      async () => {
        const tree = (await page.getByRole("tree").boundingBox())!;
        const { y } = (await row.boundingBox())!;
        return y >= tree.y && y < tree.y + tree.height;
      },
      "its row in sight",
    );
    await open("file7.ts");
    await page.getByRole("region", { name: "Text of src/deep/file7.ts" }).waitFor();
    // The first of what was found for other words is not chosen any more, the first of these is.
    await open("");
    await page.keyboard.type("zebstr");
    await page.getByRole("option", { name: /^zebra_stripes/, selected: true }).waitFor();
    await page.keyboard.press("Escape");
    await open("");
    await app.accessible("the files of the palette");
    await page.keyboard.type("gnp");
    await page.getByRole("option", { name: "<b>\\u{202e}gnp.exe" }).or(
      page.getByRole("option", { name: "gnp.exe" }),
    ).first().waitFor();
    await page.keyboard.press("Escape");
    app.clean("opening files");
  },
});
