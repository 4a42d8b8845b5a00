import { assertEquals } from "@std/assert";
import { SessionListChanges } from "./list_changes.ts";
import type { SessionItem } from "./session_item.ts";

const item = (id: string, title = id) => ({ id, title, lanes: [] }) as unknown as SessionItem;
const told = ({ changed, gone, whole }: ReturnType<SessionListChanges["since"]>) => ({
  changed: changed.map(({ id, title }) => `${id}:${title}`),
  gone,
  whole,
});

Deno.test("a list tells what is new, what changed and what is gone since an answer", () => {
  const list = new SessionListChanges();
  const [a, b] = [item("a"), item("b")];
  const first = list.since([a, b], "");
  assertEquals(told(first), { changed: ["a:a", "b:b"], gone: [], whole: true });
  const same = list.since([item("a"), b], first.tag);
  assertEquals(told(same), { changed: [], gone: [], whole: false });
  assertEquals(same.tag, first.tag);
  const next = list.since([item("b", "B"), item("c")], first.tag);
  assertEquals(told(next), { changed: ["b:B", "c:c"], gone: ["a"], whole: false });
  assertEquals(told(list.since([item("b", "B"), item("c")], next.tag)), {
    changed: [],
    gone: [],
    whole: false,
  });
  const back = list.since([item("a"), item("b", "B"), item("c")], next.tag);
  assertEquals(told(back), { changed: ["a:a"], gone: [], whole: false });
  assertEquals(told(list.since([a], first.tag)).gone, ["b", "c"]);
});

Deno.test("an answer of another daemon, or none, gets the whole list", () => {
  const list = new SessionListChanges();
  const other = new SessionListChanges().since([item("a")], "");
  for (const tag of ["", "x", other.tag, `${list.since([], "").tag}9`]) {
    assertEquals(told(list.since([item("a")], tag)).whole, true, tag);
  }
});
