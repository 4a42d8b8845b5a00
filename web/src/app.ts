/** What every view reaches: made once in main.tsx, handed down by context. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { Announcer } from "./announcer.ts";
import { Client } from "./rpc/client.ts";
import { explain } from "./rpc/api.ts";
import { Router } from "./router.ts";
import { SessionList } from "./sessions/list.ts";
import { discoverOwnOrigin } from "./rpc/discover.ts";

export class App {
  readonly client = new Client({ discover: discoverOwnOrigin });
  readonly router = new Router();
  readonly announcer = new Announcer();
  readonly sessions = new SessionList(this.client);

  start(): void {
    this.client.start();
    this.sessions.start();
  }

  /** Shows and says what went wrong. */
  report(error: unknown): void {
    this.announcer.alert(explain(error));
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
