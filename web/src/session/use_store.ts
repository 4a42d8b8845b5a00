import { useEffect, useState } from "preact/hooks";
import { useApp } from "../app.ts";
import { SessionStore } from "./store.ts";
import { TextAnnouncer } from "./text_announcer.ts";

/** A session's store for as long as its view is there. */
export function useSessionStore(id: string): SessionStore {
  const { client, announcer } = useApp();
  const [store] = useState(() => {
    const spoken = new TextAnnouncer((text) => announcer.say(text));
    return new SessionStore(client, id, (changes) => spoken.take(changes));
  });
  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  return store;
}
