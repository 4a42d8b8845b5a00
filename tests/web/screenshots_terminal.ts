/** The terminal UI, line mode and `svc ctl approvals`, run in a terminal of two sizes. */
import { delay } from "@std/async";
import { join } from "@std/path";
import type { Browser } from "../support/browser.ts";
import { DrawnTerminal } from "../support/drawn_terminal.ts";
import { type Scenario, until } from "../support/scripted.ts";
import { svcLine } from "../support/svc.ts";
import { TmuxTerminal } from "../support/tmux.ts";
import type { Album } from "./screenshots_album.ts";
import {
  beginQuestion,
  beginScene,
  beginScenes,
  QUESTIONS,
  type SceneName,
  SCENES,
} from "./screenshots_scenes.ts";
import { takeThemes } from "./screenshots_themes.ts";

export interface Size {
  cols: number;
  rows: number;
}

const SIZES: readonly Size[] = [{ cols: 120, rows: 36 }, { cols: 60, rows: 20 }];

/** How `svc chat` is started for a face, and what it shows. */
interface Face {
  name: "terminal" | "lines";
  command: string;
  ready: RegExp;
  /** An answer can be typed. */
  asked: RegExp;
}

const FACES: readonly Face[] = [
  { name: "terminal", command: "svc chat -c", ready: /● ready/, asked: / y allow|all of it first/ },
  {
    name: "lines",
    command: "TERM=dumb svc chat -c",
    ready: /(?:^|\n)You:\s*$/,
    asked: /TEXT:\s*$/,
  },
];
/** The terminal UI shows only a part of a long question at first. */
const HIDDEN = "shows all of it first";
/** A face takes no answer sooner after its question. */
const READ_MS = 500;

/** Takes each scene in each face. */
export async function takeTerminals(album: Album, browser: Browser): Promise<void> {
  await using it = await beginScenes();
  const bin = it.place.mkdir("bin");
  Deno.writeTextFileSync(join(bin, "svc"), `#!/bin/sh\nexec ${svcLine()} "$@"\n`, { mode: 0o700 });
  for (const size of SIZES) {
    await using drawn = await DrawnTerminal.open(browser, size);
    for (const face of FACES) {
      for (const name of Object.keys(SCENES) as SceneName[]) {
        const place = `${face.name}-${name}-${size.cols}`;
        const { workdir, session_id } = await beginScene(it, name, place);
        await using shown = await Shown.open(it, { album, drawn, size, bin, dir: workdir });
        await takeScene(shown, face, name);
        // Otherwise it is listed below.
        await it.call("session.kill", { session_id });
      }
    }
  }
  await takeThemes(it, { album, browser, sizes: SIZES, bin });
  for (const name of QUESTIONS) await beginQuestion(it, name);
  for (const size of SIZES) {
    await using drawn = await DrawnTerminal.open(browser, size);
    await using shown = await Shown.open(it, { album, drawn, size, bin, dir: it.place.dir });
    await takeQueue(shown, it);
  }
}

async function takeScene(shown: Shown, face: Face, name: SceneName): Promise<void> {
  const { terminal } = shown;
  const take = (what: string) => shown.take(`${face.name}-${what}`);
  await terminal.line(face.command);
  await terminal.shows(face.ready);
  await terminal.line(SCENES[name].says);
  if (name === "conversation") {
    await terminal.shows("// 11");
    await terminal.shows(face.ready);
    await take(name);
    await terminal.line("/permissions");
    await terminal.shows("*.example.com");
    return await take("permissions");
  }
  await terminal.shows(face.asked);
  await delay(READ_MS);
  await take(name);
  if ((await terminal.text()).includes(HIDDEN)) {
    await terminal.press("v");
    await terminal.shows("full request");
    await take(`${name}-whole`);
    await terminal.press("v");
  }
  if (name === "question-command") await answerCommand(shown, face, take);
}

/** Looks at the rules that could be kept, and says no. */
async function answerCommand(
  { terminal }: Shown,
  face: Face,
  take: (what: string) => Promise<void>,
): Promise<void> {
  if (face.name === "terminal") {
    await terminal.press("2");
    await terminal.shows("this directory");
    await take("question-rule");
    await terminal.press("Escape");
    // A key that follows at once would be one with Alt.
    await until(
      async () => !(await terminal.text()).includes("this directory"),
      "the choice is taken back",
    );
  }
  await terminal.type("no, use deno test");
  await terminal.shows("no, use deno");
  await take("question-deny");
  await terminal.press("Enter");
  await terminal.shows("deno test --coverage");
  await terminal.shows(face.asked);
  await take("question-denied");
}

/** The questions of all sessions, and one that is answered. */
async function takeQueue(shown: Shown, it: Scenario): Promise<void> {
  const { terminal } = shown;
  await terminal.line("svc ctl approvals list");
  await terminal.shows(/QUESTION[^]*\n\$\s*$/);
  await shown.take("ctl-approvals-list");
  const { approvals } = await it.client.rpc.call("approvals.list");
  const asked = approvals.find(({ title }: { title: string }) =>
    title === SCENES["question-edit"].title
  );
  await terminal.line("clear");
  await terminal.line(`svc ctl approvals answer ${asked.approval_id} allow`);
  await terminal.shows("Allow this?");
  await shown.take("ctl-approvals-answer");
}

interface ShownOptions {
  album: Album;
  drawn: DrawnTerminal;
  size: Size;
  /** Has the program `svc`. */
  bin: string;
  dir: string;
}

/** A terminal, and a drawn one that shows the same. */
export class Shown implements AsyncDisposable {
  readonly terminal: TmuxTerminal;
  readonly #written: string;
  readonly #options: ShownOptions;

  private constructor(terminal: TmuxTerminal, written: string, options: ShownOptions) {
    this.terminal = terminal;
    this.#written = written;
    this.#options = options;
  }

  /** Opens one with a cleared screen in a directory. */
  static async open({ place }: Scenario, options: ShownOptions): Promise<Shown> {
    const { size, bin, dir } = options;
    const terminal = await TmuxTerminal.open(place, size);
    const written = join(place.dir, `written-${crypto.randomUUID()}`);
    const shown = new Shown(terminal, written, options);
    try {
      await terminal.record(written);
      // Neither tmux nor the shell of root takes these from the environment.
      await terminal.line(`cd '${dir}'; PATH='${bin}':$PATH; PS1='$ '; clear`);
      await terminal.shows(/^\$\s*$/);
    } catch (error) {
      await shown[Symbol.asyncDispose]();
      throw error;
    }
    return shown;
  }

  /** Takes a picture once the drawn terminal shows what the real one does. */
  async take(name: string): Promise<void> {
    const { album, drawn, size: { cols, rows } } = this.#options;
    await until(async () => {
      const screen = await drawn.draw(await Deno.readTextFile(this.#written));
      return trimmed(screen) === trimmed(await this.terminal.text());
    }, `a picture of ${name}`);
    await album.add(`${name}-${cols}x${rows}`, (path) => drawn.save(path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.terminal[Symbol.asyncDispose]();
  }
}

/** A screen without the blanks that one terminal reports and another does not. */
function trimmed(screen: string): string {
  return screen.split("\n").map((line) => line.trimEnd()).join("\n").trimEnd();
}
