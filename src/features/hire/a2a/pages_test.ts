import { assertEquals, assertRejects } from "@std/assert";
import { pageOfAll, type Pager } from "./pages.ts";

/** A list whose items are their own times, newest first; its cursors are positions. */
function listOf(...items: string[]): Pager<string> {
  return (limit, cursor) => {
    const from = Number(cursor ?? 0);
    const next = from + limit;
    const next_cursor = next < items.length ? String(next) : undefined;
    return Promise.resolve({ items: items.slice(from, next), total: items.length, next_cursor });
  };
}

async function pagesOf(pagers: Pager<string>[], limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let token: string | undefined;
  do {
    const page = await pageOfAll(pagers, { limit, token, changedAt: (it) => it });
    pages.push(page.items);
    token = page.next_cursor;
  } while (token !== undefined);
  return pages;
}

Deno.test("lists are one, in the order of their changes, whatever the size of a page", async () => {
  const lists = [["9", "7", "5", "1"], ["8", "4", "3", "2"], []];
  const all = ["9", "8", "7", "5", "4", "3", "2", "1"];
  for (let limit = 1; limit <= 9; limit++) {
    const pages = await pagesOf(lists.map((it) => listOf(...it)), limit);
    assertEquals(pages.flat(), all, String(limit));
    assertEquals(pages.length, Math.ceil(all.length / limit));
  }
});

Deno.test("the total is that of all lists, on each page", async () => {
  const pagers = [listOf("3", "2"), listOf("1")];
  const first = await pageOfAll(pagers, { limit: 2, changedAt: (it) => it });
  assertEquals([first.total, first.items], [3, ["3", "2"]]);
  const options = { limit: 2, token: first.next_cursor, changedAt: (it: string) => it };
  const second = await pageOfAll(pagers, options);
  assertEquals([second.total, second.items, second.next_cursor], [3, ["1"], undefined]);
});

Deno.test("a token for other lists is refused", async () => {
  const options = { limit: 2, token: "1~2~3", changedAt: (it: string) => it };
  await assertRejects(() => pageOfAll([listOf(), listOf()], options), Error, "page token");
});
