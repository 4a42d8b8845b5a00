import { useEffect, useState } from "preact/hooks";
import { useApp } from "../app.ts";
import { Live, type LiveOptions } from "./live.ts";

/** An answer that stays up to date for as long as its view is there. */
export function useLive<T>(options: LiveOptions<T>): Live<T> {
  const { client } = useApp();
  const [live] = useState(() => new Live(client, options));
  useEffect(() => live.start(), [live]);
  return live;
}
