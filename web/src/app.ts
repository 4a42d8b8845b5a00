/** What every view reaches: made once in main.tsx, handed down by context. */
import { signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { Announcer } from "./announcer.ts";
import { DaemonKind } from "./daemon_kind.ts";
import type { Highlighter } from "./highlight/highlighter.ts";
import type { Step } from "./palette/palette.tsx";
import { Client } from "./rpc/client.ts";
import { explain } from "./rpc/api.ts";
import { Router } from "./router.ts";
import { SessionList } from "./sessions/list.ts";
import { Seen } from "./sessions/seen.ts";
import { DaemonLink } from "./rpc/connect.ts";
import { chosenTheme } from "./theme.ts";

export class App {
  readonly link = new DaemonLink();
  readonly client = new Client({ connect: this.link.connect });
  readonly daemon = new DaemonKind(this.client);
  /** After an update, the next view comes with the new version's page. */
  readonly router = new Router(() =>
    this.daemon.updated.peek() && this.client.state.peek() === "connected"
  );
  readonly announcer = new Announcer();
  /** Made with the first code. */
  highlighter: Highlighter | undefined;
  /** What the person chose, wherever that was done. */
  readonly theme = signal(chosenTheme());
  readonly sessions = new SessionList(this.client);
  /** What was looked at in them. */
  readonly seen = new Seen();
  /** The file that the session in view is to show. */
  readonly opening = signal<string | undefined>(undefined);
  /** What was typed in the settings and is not saved: it stays while one looks elsewhere. */
  readonly settings = signal<Readonly<Record<string, string>>>({});
  /** What is open of the palette. */
  readonly palette = signal<Step | undefined>(undefined);
  /** What can be done in the view: fill the message box, open or fold all cards. */
  readonly view: { fill?(text: string): void; fold?(): void } = {};
  /** Grows when a new session is asked for: its box takes the focus. */
  readonly composing = signal(0);

  /** Connects. @returns resolves when what every view shows is there, or will not come soon. */
  start(): Promise<void> {
    this.client.start();
    // Timers of a page that nobody looks at come late.
    document.onvisibilitychange = () => document.hidden || this.client.retry();
    this.daemon.start();
    return this.sessions.start();
  }

  /**
   * Imports a part of the app.
   *
   * @throws {Error} when it does not come, as after an update that has other files.
   */
  async load<T>(part: () => Promise<T>): Promise<T> {
    await this.client.whenTrusted();
    try {
      return await part();
    } catch (cause) {
      if (!this.daemon.updated.peek()) throw cause;
      throw new Error("svc was updated; reload this page", { cause });
    }
  }

  /** Goes to where a session is started, ready to write. */
  compose(): void {
    this.composing.value++;
    this.router.go("/");
    this.router.navigated = false;
  }

  /** Gets the page anew. */
  async reload(): Promise<void> {
    await this.client.whenTrusted();
    location.reload();
  }

  /** Shows and says what went wrong. */
  report(error: unknown): void {
    this.announcer.alert(explain(error));
  }

  /** Copies a text to the clipboard, and says so. */
  async copy(text: string): Promise<void> {
    await navigator.clipboard.writeText(text);
    this.announcer.say("Copied");
  }

  /** Runs what a button does; a failure is shown. @returns whether it was done. */
  async attempt(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.report(error);
      return false;
    }
  }
}

export const AppContext = createContext<App | undefined>(undefined);

/** The app around a component. */
export function useApp(): App {
  const app = useContext(AppContext);
  if (app === undefined) throw new Error("there is no AppContext above");
  return app;
}
