/** A list of thousands of sessions: what is drawn, and what the daemon sends for it. */
import { assert, assertEquals } from "@std/assert";
import { writeIndex, writeSession } from "../support/histories.ts";
import { until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { Place } from "../support/svc.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();
const SESSIONS = 2_000;
const DIRECTORIES = 40;
/** Rows that may be drawn before somebody goes on in the list. */
const ROWS_MAX = 180;
/** Bytes of an answer when nothing, or one session, has changed. */
const SAME_MAX = 300;
const ONE_MAX = 2_000;

Deno.test({
  name: `of ${SESSIONS} sessions those in sight are drawn, and what has changed is sent`,
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    const begun = Date.parse("2026-01-01T00:00:00Z");
    const histories = Array.from({ length: SESSIONS }, (_, n) => {
      const workdir = place.mkdir(`project${n % DIRECTORIES}`);
      return writeSession(workdir, "paused", new Date(begun + n * 60_000).toISOString());
    });
    writeIndex(place, histories);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    await until(async () => {
      const { sessions } = await client.rpc.call("session.list", {});
      return sessions.length === SESSIONS;
    }, "all of them");
    const last = histories.at(-1)!.id;
    const rename = (session_id: string, title: string) =>
      client.rpc.call("session.configure", { session_id, title });
    await rename(histories[0].id, "the first of all");
    await rename(last, "the last of all");

    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon, "/cost");
    const { page } = app;
    /** The answers to session.list over the socket. */
    const answers: string[] = [];
    page.on("websocket", (socket) => {
      const asked = new Set<unknown>();
      socket.on("framesent", ({ payload }) => {
        const { id, method } = JSON.parse(String(payload));
        if (method === "session.list") asked.add(id);
      });
      socket.on("framereceived", ({ payload }) => {
        const text = String(payload);
        const id = Number(/"id":(\d+)/.exec(text.slice(0, 80) + text.slice(-80))?.[1]);
        if (asked.delete(id)) answers.push(text);
      });
    });
    await app.go("/");
    const rows = page.locator(".session-table .session-row");
    await page.getByRole("link", { name: "the last of all" }).first().waitFor();
    assert(await rows.count() <= ROWS_MAX, `${await rows.count()} rows`);
    await until(() => Promise.resolve(answers.length >= 4), "some answers");
    // The whole list came once, over HTTP.
    const sizes = answers.map(({ length }) => length);
    assert(sizes.every((it) => it <= SAME_MAX), `${sizes} bytes`);
    assert(await rows.count() <= ROWS_MAX, `${await rows.count()} rows`);

    // A change comes alone, and the rest of the list stays the same.
    const before = answers.length;
    await rename(last, "the newest name");
    await page.locator(".session-table").getByText("the newest name").waitFor();
    const changed = answers.slice(before).filter(({ length }) => length > SAME_MAX);
    assert(changed.every(({ length }) => length <= ONE_MAX), `${changed.map((it) => it.length)}`);
    await app.accessible("thousands of sessions");

    // All are found, and reached by the keyboard.
    await page.getByLabel("Search sessions and what was said").fill("first of all");
    await page.locator(".session-table").getByText("the first of all").waitFor();
    assertEquals(await rows.count(), 1);
    await page.getByLabel("Search sessions and what was said").fill("");
    await page.getByRole("button", { name: /^Show more \(\d+ left\)$/ }).waitFor();
    const drawn = await rows.count();
    await rows.nth(drawn - 1).getByRole("link").focus();
    await until(async () => await rows.count() > drawn, "more rows");
    const more = await rows.count();
    await page.getByRole("button", { name: /^Show more/ }).focus();
    await page.keyboard.press("Enter");
    await until(async () => await rows.count() > more, "more rows by the button");

    // A session is killed: it leaves the list.
    await client.rpc.call("session.kill", { session_id: last });
    await page.locator(".session-table").getByText("the newest name").waitFor({
      state: "detached",
    });
    app.clean("thousands of sessions");
  },
});
