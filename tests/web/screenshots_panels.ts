/** Pictures of the panels beside a conversation. */
import type { Browser } from "../support/browser.ts";
import { Repository } from "../support/repository.ts";
import { Scenario } from "../support/scripted.ts";
import { AppPage } from "../support/web.ts";
import { scene } from "./changes_scene.ts";
import type { Album } from "./screenshots_album.ts";

/** Takes the changes and the files of a session. */
export async function takePanels(album: Album, browser: Browser): Promise<void> {
  using repository = new Repository(scene.before);
  await using it = await Scenario.begin([
    { calls: scene.first },
    { text: "The parser knows `--help`, and has a test." },
    { calls: scene.second },
    { text: "README tells of it." },
  ], { start: { workdir: repository.root, title: "Options with help" } });
  await it.turn("Give the parser --help.");
  await it.turn("Tell of --verbose in README.");
  const app = await AppPage.open(browser, it.daemon);
  const { page } = app;
  const open = async (name: "Changes" | "Files") => {
    await app.go(`/sessions/${it.session_id}`);
    await app.openPanel(name);
  };
  const changes = async () => {
    await open("Changes");
    await page.locator(".change-line [class^=hl-]").first().waitFor();
  };
  const parser = async () => {
    await open("Files");
    for (const name of ["src", "options", "parser.ts"]) {
      await page.getByRole("treeitem", { name, exact: true }).click();
    }
    await page.locator(".file-line [class^=hl-]").first().waitFor();
  };
  const views: Record<string, () => Promise<void>> = {
    changes,
    "changes-split": async () => {
      await changes();
      if (page.viewportSize()!.width < 1024) return;
      await page.getByRole("button", { name: "Use the whole width" }).click();
      const split = page.getByRole("button", { name: "Side by side" });
      if (await split.getAttribute("aria-pressed") === "false") await split.click();
      await page.locator(".change-code.none").first().waitFor();
      await page.getByText("Loading…").first().waitFor({ state: "detached" });
    },
    "changes-comment": async () => {
      await changes();
      await page.locator(".change-number.insert").nth(1).click();
      await page.getByRole("textbox", { name: /^Comment on line/ }).fill("Say what it tells.");
    },
    "changes-undo": async () => {
      await changes();
      await page.getByRole("button", { name: "Undo the change of README.md" }).click();
      await page.getByText("1 file back").waitFor();
    },
    "changes-commit": async () => {
      await changes();
      await page.getByRole("button", { name: "Commit", exact: true }).click();
      await page.getByText("7 of 7 files").waitFor();
    },
    "files-tree": async () => {
      await open("Files");
      await page.getByRole("treeitem", { name: "src", exact: true }).click();
      await page.getByRole("treeitem", { name: "options", exact: true }).waitFor();
    },
    "files-text": parser,
    "files-found": async () => {
      await open("Files");
      await page.getByRole("searchbox", { name: "Find a file by name" }).fill("parser");
      await page.getByRole("list", { name: "Files found" }).waitFor();
    },
  };
  for (const [name, view] of Object.entries(views)) await album.addView(app, name, view);
}
