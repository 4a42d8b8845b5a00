import { useEffect, useState } from "preact/hooks";
import type { SessionState } from "../../../src/session/session_state.ts";
import { useApp } from "../app.ts";
import { changesFiles } from "./call.ts";
import { loadAskedDiff } from "./question.tsx";
import { SessionStore } from "./store.ts";
import { TextAnnouncer } from "./text_announcer.ts";

/** A session's store for as long as its view is there. */
export function useSessionStore(id: string): SessionStore {
  const app = useApp();
  const { client, announcer } = app;
  const [store] = useState(() => {
    const spoken = new TextAnnouncer((text) => announcer.say(text));
    const store = new SessionStore(client, id, (changes) => spoken.take(changes), prepare);
    /** A question whose changes are drawn later would move the conversation. */
    async function prepare({ pending_approvals }: SessionState) {
      // A draft that comes later would move the conversation.
      await store.draft.load().catch(() => {});
      if (!pending_approvals.some(({ tool }) => changesFiles(tool))) return;
      store.asked_diff = await app.load(loadAskedDiff).catch(() => undefined);
    }
    return store;
  });
  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  return store;
}
