/** What a person is asked, in the web app. */
import type { Browser } from "../support/browser.ts";
import type { Scenario } from "../support/scripted.ts";
import { AppPage } from "../support/web.ts";
import type { Album } from "./screenshots_album.ts";
import { beginQuestion, beginScenes, QUESTIONS } from "./screenshots_scenes.ts";

/** Takes each question of the scenes, a denial, and the rules. */
export async function takeQuestions(album: Album, browser: Browser): Promise<void> {
  await using it = await beginScenes();
  const app = await AppPage.open(browser, it.daemon);
  for (const name of QUESTIONS) {
    const session_id = await beginQuestion(it, name);
    await album.addView(app, name, async () => {
      await app.go(`/sessions/${session_id}`);
      await answerable(app);
    });
    if (name === "question-command") await takeDenial(album, app, it, session_id);
  }
  await album.addView(app, "questions", async () => {
    await app.go("/questions");
    await answerable(app);
  });
  await album.addView(app, "rules", async () => {
    await app.go("/settings");
    await app.page.getByRole("group", { name: "Rules" }).scrollIntoViewIfNeeded();
  });
}

/** Denies a question with what to do instead. */
async function takeDenial(
  album: Album,
  app: AppPage,
  it: Scenario,
  session_id: string,
): Promise<void> {
  const message = "use deno test";
  await album.addView(app, "question-deny", async () => {
    await app.go(`/sessions/${session_id}`);
    await app.page.getByRole("button", { name: "Say what instead…" }).click();
    await app.page.getByLabel("What to do instead").fill(message);
  });
  const { pending_approvals: [{ approval_id }] } = await it.call("session.get", { session_id });
  await it.call("session.approve", { session_id, approval_id, decision: "deny", message });
  await album.addView(app, "question-denied", async () => {
    await app.go(`/sessions/${session_id}`);
    await answerable(app);
  });
}

/** Waits until the question can be answered: its buttons are dim at first. */
async function answerable(app: AppPage): Promise<void> {
  await app.page.getByRole("button", { name: "Deny", exact: true, disabled: false }).waitFor();
}
