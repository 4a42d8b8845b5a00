/** Where pictures go, and which of them the documentation shows. */
import { fromFileUrl, join } from "@std/path";
import type { AppPage, Theme } from "../support/web.ts";

const root = fromFileUrl(new URL("../..", import.meta.url));
const SIZES = {
  desktop: { width: 1440, height: 900 },
  laptop: { width: 1024, height: 768 },
  tablet: { width: 768, height: 1024 },
  phone: { width: 390, height: 844 },
};

/** Has the pictures of {@linkcode KEPT}, from the root of the repository. */
export const KEPT_DIR = "docs/screenshots";

/** The pictures that README and the documentation show. */
export const KEPT: readonly string[] = [
  "session-light-desktop",
  "session-dark-phone",
  "sessions-light-desktop",
  "changes-split-dark-desktop",
  "mission-light-desktop",
  "cost-dark-phone",
  "terminal-conversation-120x36",
  "lines-conversation-120x36",
  "question-command-dark-desktop",
  "question-command-dark-phone",
  "terminal-question-command-120x36",
  "lines-question-command-60x20",
];

/** A folder of pictures. */
export class Album {
  readonly #dir: string;
  readonly #names = new Set<string>();

  /** Makes the folder if it is missing. */
  constructor(dir: string) {
    this.#dir = dir;
    Deno.mkdirSync(dir, { recursive: true });
  }

  /** Adds a picture. @param save writes it to a path */
  async add(name: string, save: (path: string) => Promise<unknown>): Promise<void> {
    const path = join(this.#dir, `${name}.png`);
    await save(path);
    console.log(path);
    this.#names.add(name);
    if (!KEPT.includes(name)) return;
    const kept = join(root, KEPT_DIR);
    await Deno.mkdir(kept, { recursive: true });
    await Deno.copyFile(path, join(kept, `${name}.png`));
  }

  /** Adds a view of the web app in light and dark, in each size. */
  async addView(app: AppPage, name: string, prepare: () => Promise<void>): Promise<void> {
    for (const theme of ["light", "dark"] as const satisfies Theme[]) {
      for (const [size, viewport] of Object.entries(SIZES)) {
        await app.page.setViewportSize(viewport);
        await app.theme(theme);
        await prepare();
        await this.add(`${name}-${theme}-${size}`, (path) => app.page.screenshot({ path }));
      }
    }
  }

  /** @throws {Error} if a picture of {@linkcode KEPT} was not added */
  requireKept(): void {
    const missing = KEPT.filter((name) => !this.#names.has(name));
    if (missing.length > 0) throw new Error(`no picture is called ${missing.join(", ")}`);
  }
}
