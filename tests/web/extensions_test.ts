/** Hooks, skills and commands of files, as the page lists them. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "hooks, skills and commands are listed, and what does not run yet says so",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([], {
      toml: `[[hooks]]\non = "tool.before"\nmatch = "run_command: git push *"\n` +
        `command = ["/usr/bin/logger", "two words"]\n`,
    });
    const write = (path: string, text: string) => {
      const full = join(it.workdir, path);
      Deno.mkdirSync(join(full, ".."), { recursive: true });
      Deno.writeTextFileSync(full, text);
    };
    write(
      "svc.hooks.toml",
      `[[hooks]]\non = "turn.completed"\ncommand = ["sh", "-c", "<b>x</b>"]\n`,
    );
    write(
      ".claude/skills/deploy/SKILL.md",
      "---\nname: deploy\ndescription: How to deploy\n---\n.",
    );
    write(".claude/commands/check.md", "---\ndescription: Runs the checks\n---\nRun them.");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/tools");
    const { page } = app;
    const files = page.getByRole("region", { name: "From files" });
    const open = (name: string) => files.getByRole("button", { name }).click();
    await open("Hooks");
    await files.getByText("/usr/bin/logger 'two words'").waitFor();
    await files.getByText("run_command: git push *").waitFor();
    assertEquals(await files.getByRole("button", { name: "Skills" }).count(), 0);
    assertEquals(await files.getByText("does not run").count(), 0);

    await page.getByLabel("As seen by").selectOption(it.session_id);
    await files.getByText("sh -c '<b>x</b>'").waitFor();
    assertEquals(await files.getByText("not trusted, does not run").count(), 1);
    await open("Skills");
    await files.getByText("How to deploy").waitFor();
    await open("Commands");
    await files.getByText("/check", { exact: true }).waitFor();
    await app.accessibleEverywhere("hooks, skills and commands");
    app.clean("hooks, skills and commands");
  },
});
