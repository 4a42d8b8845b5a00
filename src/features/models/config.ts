/** `[catalogue]` of daemon.toml. */
import * as z from "zod";
import { section } from "../../config/section.ts";

/** Prices decide about budgets, so nobody on the way may change them. */
function isSafe(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" ||
    url?.protocol === "http:" && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname);
}

export const CATALOGUE = section("catalogue", () =>
  z.strictObject({
    url: z.string().refine(isSafe, "must be an https:// address").optional().describe(
      "Address of a newer model catalogue, such as https://models.dev/api.json, which svc downloads " +
        "at most once a day, when models are used; unset: no downloads",
    ),
  }).prefault({}));
