/** The settings' view: each action, and that the file and the verb tell the same. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { until } from "../support/scripted.ts";
import { takeServiceManager } from "../support/service_manager.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { Place } from "../support/svc.ts";
import { can_run_systemd, UserSystemd } from "../support/systemd.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const FILE = `# Mine, with reasons.
[agent]
budget_usd = 5.0 # a session

[cortex]
curator = false
`;

Deno.test({
  name: "settings: change the file, see what holds later, what is wrong, the daemon, the service",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    takeServiceManager(place);
    place.configure(FILE);
    const path = join(place.home, "daemon.toml");
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const setting = async (key: string) =>
      (await client.rpc.call("daemon.get_config")).settings[key];
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon, "/settings");
    const { page } = app;
    const budget = page.getByLabel("Session budget in dollars");
    assertEquals(await budget.inputValue(), "5");
    assertEquals(
      await page.getByLabel("Maximum model calls per turn").getAttribute("placeholder"),
      "50",
    );
    assertEquals(
      await page.getByLabel("Default model").getAttribute("placeholder"),
      "builtin/toolbelt",
    );
    await app.accessibleEverywhere("settings");

    await budget.fill("7.5");
    // It stays while one looks elsewhere.
    const navigation = page.getByRole("navigation").first();
    await navigation.getByRole("link", { name: "Memory" }).click();
    await page.getByRole("heading", { name: "Memory", level: 1 }).waitFor();
    await navigation.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Save 1 change" }).waitFor();
    assertEquals(await budget.inputValue(), "7.5");
    // And while the page is loaded again.
    await page.reload();
    await page.getByRole("button", { name: "Save 1 change" }).waitFor();
    assertEquals(await budget.inputValue(), "7.5");
    await page.getByLabel("Approvals").selectOption("read_only");
    await page.getByLabel("Concurrent tool units").fill("4");
    await page.getByRole("button", { name: "Save 3 changes" }).click();
    await page.getByText("In use: 16, until the daemon restarts.").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).waitFor();
    const text = Deno.readTextFileSync(path);
    assertStringIncludes(text, "# Mine, with reasons.\n[agent]\nbudget_usd = 7.5 # a session\n");
    assertEquals((await setting("agent.approval")).value, "read_only");
    assertEquals(await setting("sandbox.units"), {
      value: 4,
      source: "file",
      default: 16,
      in_use: 16,
      restart: true,
    });

    // What is wrong is said at its field, which gets the focus; nothing is written.
    await page.getByLabel("Keep in full for").fill("0");
    await page.getByLabel("Default model").fill("nonsense");
    await page.getByRole("button", { name: "Save 2 changes" }).click();
    await page.getByText("must be a number above 0, not 0").waitFor();
    await app.holds(
      "document.activeElement.getAttribute('aria-invalid') === 'true'",
      "the focus at what is wrong",
    );
    await app.accessible("a setting that will not do");
    await page.getByLabel("Keep in full for").fill("48");
    await page.getByRole("button", { name: "Save 2 changes" }).click();
    await page.getByText("is not a model id").first().waitFor();
    assertEquals(Deno.readTextFileSync(path), text);
    await page.getByRole("button", { name: "Discard" }).click();
    assertEquals(await page.getByLabel("Keep in full for").inputValue(), "");
    await page.locator("[aria-invalid]").waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("button", { name: "Save", exact: true }).waitFor({ state: "attached" });
    assertEquals(await page.getByLabel("Keep in full for").inputValue(), "");

    // Emptied, a key leaves the file, and its default holds; what is typed meanwhile stays.
    await budget.fill("");
    // deno-lint-ignore no-explicit-any -- the page's element
    await page.getByLabel("Keep in full for").evaluate((input: any) => {
      input.form.requestSubmit();
      input.value = "60";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await until(
      async () => (await setting("agent.budget_usd")).source === "default",
      "the default",
    );
    await page.getByRole("button", { name: "Save 1 change" }).waitFor();
    assertEquals(await page.getByLabel("Keep in full for").inputValue(), "60");
    await page.getByRole("button", { name: "Discard" }).click();

    // The directory picker, and a file that is changed by hand.
    const workdir = place.mkdir("work");
    await page.getByLabel("Default directory").fill(place.dir);
    await page.getByRole("button", { name: "Browse" }).click();
    await page.getByRole("list", { name: "Directories" }).getByRole("button", { name: "work" })
      .click();
    await page.getByText("No directories").waitFor();
    assertEquals(await page.getByLabel("Default directory").inputValue(), workdir);
    await page.getByRole("button", { name: "Save 1 change" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).waitFor();
    assertEquals((await setting("default_workdir")).value, workdir);
    Deno.writeTextFileSync(path, "[journal]\nretention_mb = 20\n");
    await app.look();
    await page.getByText("In use: 100, until the configuration is reloaded.").waitFor();
    await page.getByRole("button", { name: "Reload configuration" }).click();
    await page.getByText("In use: 100").waitFor({ state: "detached" });
    assertEquals((await setting("journal.retention_mb")).in_use, undefined);

    const info = await client.rpc.call("daemon.info");
    for (const told of [info.version, String(info.pid), info.sock, info.log_path]) {
      await page.getByText(told, { exact: true }).waitFor();
    }
    const service = await client.rpc.call("service.status");
    const panel = page.getByRole("region", { name: "Background service" });
    assertEquals(service.installed, false);
    await panel.getByText("Not installed").waitFor();
    await panel.getByText(service.hint).waitFor();

    // The theme is one, wherever it is chosen.
    const themes = page.getByLabel("Theme");
    await themes.first().selectOption("dark");
    await page.locator("html[data-theme=dark]").waitFor({ state: "attached" });
    await until(async () => await themes.last().inputValue() === "dark", "the other choice");

    // A file with an error is said, and what to do; what was typed stays.
    await budget.fill("9");
    Deno.writeTextFileSync(path, "[agent\n");
    await app.look();
    const failure = page.getByRole("alert").getByText("daemon.toml:1");
    await failure.waitFor();
    // In the background the page asks for nothing by itself: what follows is the button's doing.
    await page.evaluate(
      "Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })",
    );
    const again = page.getByRole("button", { name: "Try again" });
    await again.click();
    await page.locator("[aria-busy]").waitFor({ state: "detached" });
    // The same answer draws nothing anew.
    await app.focused("[role=alert] button");
    await failure.waitFor();
    Deno.writeTextFileSync(path, FILE);
    await again.click();
    await failure.waitFor({ state: "detached" });
    assertEquals(await budget.inputValue(), "9");
    app.clean("settings");
  },
});

Deno.test({
  name: "the background service is installed and removed from the page, which comes back by itself",
  ignore: no_browser || !can_run_systemd,
  async fn() {
    await using place = new Place();
    await using systemd = await UserSystemd.start(place);
    const stray = await place.serve();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, stray, "/settings");
    const { page } = app;
    const panel = page.getByRole("region", { name: "Background service" });
    await panel.getByText("Not installed").waitFor();
    await panel.getByRole("button", { name: "Install", exact: true }).click();
    await stray.ended();
    await panel.getByText("Runs", { exact: true }).waitFor();
    await panel.getByText("starts by itself").waitFor();
    await app.connected();
    const { pid } = place.discovery();
    assertEquals(await systemd.show("MainPID"), `${pid}`);
    await app.accessible("an installed service");

    await panel.getByRole("button", { name: "Uninstall" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Uninstall" }).click();
    await panel.getByText("Not installed").waitFor();
    await until(
      async () => await systemd.show("MainPID") === "0",
      "the end of the unit's daemon",
      30_000,
    );
    await page.getByText(/Reconnecting|Offline/).first().waitFor({ state: "attached" });
  },
});

Deno.test({
  name: "permission rules are shown, added, tried and removed, and every face has the same",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    place.configure('[permissions]\ndeny = ["run_command: git push*"]\n');
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon, "/settings");
    const { page } = app;
    const panel = page.getByRole("region", { name: "Permission rules" });
    await panel.getByRole("cell", { name: "run_command: git push*", exact: true }).waitFor();
    const form = panel.getByRole("form", { name: "Add a rule" });
    await form.getByLabel("Rule").fill("run_command: npm test *");
    await form.getByRole("button", { name: "Add rule" }).click();
    await panel.getByRole("cell", { name: "run_command: npm test *", exact: true }).waitFor();
    await app.accessibleEverywhere("permission rules");
    const tries = panel.getByRole("form", { name: "Try a command line" });
    await tries.getByLabel("Try a command line").fill("npm test && git push");
    await tries.getByRole("button", { name: "Try" }).click();
    await panel.getByText("Refuse, by the rule run_command: git push* (git push)").waitFor();
    // What is refused stays in the form, with the reason.
    await form.getByLabel("Rule").fill("no such: x y");
    await form.getByRole("button", { name: "Add rule" }).click();
    await form.getByRole("alert").waitFor();
    const { rules } = await client.rpc.call("permissions.list");
    assertEquals(rules.map(({ rule }: { rule: string }) => rule), [
      "run_command: git push*",
      "run_command: npm test *",
    ]);

    const directory = Deno.realPathSync(place.mkdir("project"));
    Deno.writeTextFileSync(join(directory, "svc.permissions.toml"), 'allow = ["read_file"]\n');
    await client.rpc.call("permissions.trust", { directory });
    await panel.getByText("Trusted with its own rules and hooks:").waitFor();
    await panel.getByRole("button", { name: "Trust no longer" }).click();
    await panel.getByText("Trusted with its own rules and hooks:").waitFor({ state: "detached" });
    await panel.getByRole("button", { name: "Remove run_command: npm test *" }).click();
    await panel.getByRole("cell", { name: "run_command: npm test *", exact: true })
      .waitFor({ state: "detached" });
    assertEquals((await client.rpc.call("permissions.list")).rules.length, 1);
    app.clean("permission rules");
  },
});

Deno.test({
  name: "settings are found by their words, and what is wrong is shown whatever is searched for",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon, "/settings");
    const { page } = app;
    const shown = () => page.getByRole("heading", { level: 2 }).allTextContents();
    const all = await shown();
    const search = page.getByLabel("Search settings");
    await search.fill("budget dollars");
    await page.getByRole("heading", { name: "Appearance" }).waitFor({ state: "hidden" });
    assertEquals(await shown(), ["Sessions"]);
    assertEquals(await page.locator(".settings-grid .field:visible").count(), 2);
    await page.getByLabel("Session budget in dollars").fill("none");

    // A part that is no setting of the file, by a word of what it does.
    await search.fill("theme");
    await page.getByRole("heading", { name: "Appearance" }).waitFor();
    assertEquals(await shown(), ["Appearance"]);
    await page.getByRole("button", { name: "Save 1 change" }).click();
    await page.locator("[aria-invalid]:focus").waitFor();
    assertEquals(await shown(), ["Appearance", "Sessions"]);

    await search.fill("nothing is called so");
    await page.getByText("No setting is called so").waitFor();
    await app.accessible("no setting found");
    // The search is kept for the way back, as in lists.
    await page.getByRole("link", { name: "Cost" }).click();
    await page.getByRole("heading", { name: "Cost" }).waitFor();
    await page.goBack();
    await page.getByText("No setting is called so").waitFor();
    await page.getByLabel("Search settings").fill("");
    await page.getByRole("heading", { name: "Sessions" }).waitFor();
    assertEquals(await shown(), all);
    app.clean("settings that were searched");
  },
});
