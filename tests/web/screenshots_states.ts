/** Pictures of what the views show when there is nothing, when something is at work, and when it fails. */
import type { Browser } from "../support/browser.ts";
import type { Answer } from "../support/model_servers.ts";
import { Scenario } from "../support/scripted.ts";
import { AppPage } from "../support/web.ts";
import type { Album } from "./screenshots_album.ts";

/** Takes the states of a new daemon, and of a session with a turn. */
export async function takeStates(album: Album, browser: Browser): Promise<void> {
  const answers: Answer[] = [
    { calls: [{ name: "run_command", args: { command: "echo 'test 1 ok'; sleep 900" } }] },
    { status: { code: 400, message: "no such model" } },
  ];
  await using it = await Scenario.begin(() => answers.shift()!, {
    start: { title: "A long test" },
  });
  const app = await AppPage.open(browser, it.daemon);
  const { page } = app;
  const session = `/sessions/${it.session_id}`;
  const dialog = async (path: string, button: string) => {
    await app.go(path);
    await page.locator(".page-actions").getByRole("button", { name: button }).click();
    await page.getByRole("dialog").waitFor();
  };
  const idle: Record<string, () => Promise<void>> = {
    "missions-empty": async () => {
      await app.go("/missions");
      await page.getByText("No missions yet").waitFor();
    },
    "tasks-empty": async () => {
      await app.go("/tasks");
      await page.getByText("No tasks yet").waitFor();
    },
    "tools-empty": async () => {
      await app.go("/tools");
      await page.getByText("No tool servers").first().waitFor();
    },
    "memory-empty": async () => {
      await app.go("/memory");
      await page.getByText("No entries yet").waitFor();
    },
    "cost-empty": async () => {
      await app.go("/cost");
      await page.locator(".page .skeleton").first().waitFor({ state: "detached" });
    },
    "session-empty": async () => {
      await app.go(session);
      await page.getByText("No messages yet").waitFor();
    },
    "server-new": () => dialog("/tools", "New server"),
    "memory-new": () => dialog("/memory", "Remember"),
    "settings-wrong": async () => {
      await app.go("/settings");
      await page.getByLabel("Session budget in dollars").fill("-1");
      await page.getByRole("button", { name: "Save 1 change" }).click();
      await page.locator("[aria-invalid]").waitFor();
    },
    "settings-none": async () => {
      await app.go("/settings");
      await page.getByLabel("Search settings").fill("nothing is called so");
    },
    commands: async () => {
      await app.go(session);
      await page.getByLabel("Message", { exact: true }).fill("/");
      await page.getByRole("listbox").getByRole("option").first().waitFor();
    },
  };
  for (const [name, view] of Object.entries(idle)) await album.addView(app, name, view);
  await page.getByLabel("Message", { exact: true }).fill("");
  await it.send("Run the long test.");
  await it.event("session.tool_started");
  const box = page.getByLabel("Message", { exact: true });
  await box.fill("Then commit.");
  await box.press("Alt+Enter");
  await page.getByRole("region", { name: "Queued messages" }).waitFor();
  await album.addView(app, "session-working", async () => {
    await app.go(session);
    await page.getByText("test 1 ok").first().waitFor();
  });
  await it.client.rpc.call("session.kill", { session_id: it.session_id });
  await takeFailed(album, app, it);
}

/** Takes a turn that failed, and what offers to try again. */
async function takeFailed(album: Album, app: AppPage, it: Scenario): Promise<void> {
  const { rpc } = it.client;
  const { model, workdir } = it;
  const { session_id } = await rpc.call("session.start", { workdir, model, title: "No model" });
  await rpc.call("session.send", { session_id, text: "Mend the parser." });
  await album.addView(app, "session-failed", async () => {
    await app.go(`/sessions/${session_id}`);
    await app.page.getByRole("log").getByRole("button", { name: "Retry" }).waitFor();
  });
}
