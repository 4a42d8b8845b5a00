/**
 * Which sessions have events that the person has not looked at. This browser keeps it: what one has
 * seen is a fact of the screen one looks at, and a daemon would have to write for each look.
 */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";
import type { SessionItem } from "./list.ts";

const STORED = "svc.seen";
/** The most sessions that are remembered; of the others, older ones count as seen. */
const SEEN_MAX = 300;

interface Kept {
  /** What happened before counts as seen. */
  since: string;
  /** When a session was last looked at, by its id. */
  at: Record<string, string>;
}

export class Seen {
  readonly #kept = signal(read());

  constructor() {
    addEventListener("storage", ({ key }) => {
      if (key === STORED) this.#kept.value = read();
    });
  }

  /** Whether something happened in a session since it was looked at, and has come to rest. */
  isUnread({ id, last_event_at, activity }: SessionItem): boolean {
    const { since, at } = this.#kept.value;
    return activity !== "working" && last_event_at > (at[id] ?? since);
  }

  /**
   * Notes that a session is looked at now.
   *
   * @param last_event_at by the daemon's clock, which may be ahead of this machine's
   */
  look(id: string, last_event_at = ""): void {
    const { since, at } = this.#kept.peek();
    const others = Object.entries(at).filter(([it]) => it !== id).slice(1 - SEEN_MAX);
    const oldest = others.length === SEEN_MAX - 1 ? others[0][1] : since;
    const now = new Date().toISOString();
    const kept = {
      since: oldest > since ? oldest : since,
      at: { ...Object.fromEntries(others), [id]: last_event_at > now ? last_event_at : now },
    };
    this.#kept.value = kept;
    try {
      localStorage.setItem(STORED, JSON.stringify(kept));
    } catch {
      // It lasts as long as the page.
    }
  }
}

function read(): Kept {
  try {
    const { since, at } = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    if (typeof since === "string" && typeof at === "object") return { since, at };
  } catch {
    // What is damaged counts as new.
  }
  return { since: new Date().toISOString(), at: {} };
}

/** Notes what is looked at: the session of the view, as long as its page is in sight. */
export function useSeen(): void {
  const { router, seen, sessions } = useApp();
  const id = router.path.value.match(/^\/sessions\/([^/]+)/)?.[1];
  const changed = sessions.items.value?.find((it) => it.id === id)?.last_event_at;
  const look = () => {
    if (id !== undefined && document.visibilityState === "visible") seen.look(id, changed);
  };
  useEffect(look, [id, changed]);
  useEffect(() => {
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      look();
    };
  }, [id]);
}
