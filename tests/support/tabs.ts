/** Open pages that come back to the next daemon. */
import { assertEquals, assertNotEquals } from "@std/assert";
import type { Browser } from "./browser.ts";
import { portKeepers, recordedKeeper } from "./port_keeper.ts";
import { until } from "./scripted.ts";
import type { Place } from "./svc.ts";
import { AppPage } from "./web.ts";

/** Waits until a process keeps the port of a place's daemon. */
export async function kept(place: Place): Promise<void> {
  const holds = () => {
    const keeper = recordedKeeper(place);
    return keeper !== undefined && portKeepers(place).includes(keeper);
  };
  await until(holds, "a keeper of the port");
}

/** Waits until a page has what it comes back with. */
export async function admitted(app: AppPage): Promise<void> {
  await app.holds(
    `performance.getEntriesByType("resource").some(({ name, responseEnd }) =>
      name.endsWith("/v1/page/key") && responseEnd > 0)`,
    "a key for the page",
  );
}

/** Three pages: a session, its main lane, and the list of sessions. */
export class Tabs {
  readonly #place: Place;
  readonly #session: AppPage;
  readonly #pages: readonly AppPage[];
  readonly #loads: string[] = [];
  /** What the session shows once. */
  readonly #once: string;
  #restarts = 0;

  private constructor(place: Place, pages: readonly AppPage[], once: string) {
    this.#place = place;
    this.#pages = pages;
    this.#session = pages[0];
    this.#once = once;
    for (const { page } of pages) {
      page.on("framenavigated", (frame) => this.#loads.push(frame.url()));
    }
  }

  /** Opens them, of a session that shows a text. */
  static async open(
    browser: Browser,
    place: Place,
    session_id: string,
    text: string,
  ): Promise<Tabs> {
    const daemon = { url: `http://127.0.0.1:${place.discovery().port}` };
    const pages: AppPage[] = [];
    for (const path of [`/sessions/${session_id}`, `/sessions/${session_id}/lanes/main`, "/"]) {
      pages.push(await AppPage.open(browser, daemon, path));
    }
    await pages[0].page.getByRole("log").getByText(text).waitFor();
    await pages[2].page.locator("tr.session-row", { hasText: /project/ }).waitFor();
    for (const page of pages) await admitted(page);
    return new Tabs(place, pages, text);
  }

  /**
   * Restarts the daemon, and waits until each page is back, with nothing shown twice.
   *
   * @returns how long that took from when the next daemon could be found, in ms
   */
  async backAfter(how: string, restart: () => Promise<unknown>): Promise<number> {
    const { pid, port } = this.#place.discovery();
    await restart();
    const found = () => {
      try {
        return this.#place.discovery().pid !== pid;
      } catch {
        return false;
      }
    };
    await until(found, `${how}: the next daemon`);
    const began = performance.now();
    await Promise.all(this.#pages.map((app) => app.connected()));
    const log = this.#session.page.getByRole("log");
    // The new daemon says so in the session.
    await log.getByText("The daemon was restarted").nth(this.#restarts++).waitFor();
    const took = performance.now() - began;
    const now = this.#place.discovery();
    assertNotEquals(now.pid, pid);
    assertEquals([how, now.port], [how, port]);
    assertEquals([how, await log.getByText(this.#once).count()], [how, 1]);
    assertEquals([how, this.#loads], [how, []]);
    return took;
  }

  /** Loads the session anew: it shows what has been followed, and what has come meanwhile. */
  async readAnew(): Promise<void> {
    const { page } = this.#session;
    const log = page.getByRole("log");
    const followed = (await log.textContent())!;
    await page.reload();
    await log.getByText("The daemon was restarted").nth(this.#restarts - 1).waitFor();
    const shown = (await log.textContent())!;
    assertEquals(shown.slice(0, followed.length), followed);
  }
}
