import { assert, assertEquals } from "@std/assert";
import { namesUsageLimit, neverEnds, type Refusal, waitAsked } from "./usage_limit.ts";

/** 15:00 in Berlin, 06:00 in Los Angeles. */
const NOW = Date.parse("2026-11-26T14:00:00Z");
const AT = NOW / 1000;
const HOUR = 3_600_000;

const waits = (refusal: Partial<Refusal>, now = NOW) =>
  waitAsked({ message: "Too many requests", ...refusal }, now);

Deno.test("headers name the wait", () => {
  const cases: [Record<string, string>, number | undefined][] = [
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after-ms": "1234", "retry-after": "2" }, 1_234],
    [{ "retry-after": "Thu, 26 Nov 2026 19:00:00 GMT" }, 5 * HOUR],
    [{ "retry-after": "Thu, 26 Nov 2026 13:00:00 GMT" }, 0],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "3456000" }, 40 * 24 * HOUR],
    // Anthropic; an API key has the first ones, a subscription the unified ones.
    [{
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2026-11-26T16:00:00Z",
      "anthropic-ratelimit-tokens-remaining": "12000",
      "anthropic-ratelimit-tokens-reset": "2026-11-26T23:00:00Z",
    }, 2 * HOUR],
    [{
      "anthropic-ratelimit-unified-status": "rejected",
      "anthropic-ratelimit-unified-reset": `${AT + 5 * 3600}`,
    }, 5 * HOUR],
    // OpenAI, Groq.
    [{
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "2h30m0s",
      "x-ratelimit-remaining-tokens": "100",
      "x-ratelimit-reset-tokens": "20h",
    }, 2.5 * HOUR],
    [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66s" }, 7_660],
    // OpenRouter in milliseconds, others in seconds.
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${NOW + HOUR}` }, HOUR],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${AT + 3600}` }, HOUR],
    [{ "ratelimit-remaining": "0", "ratelimit-reset": "3600" }, HOUR],
    [{ "x-ratelimit-remaining": "5", "x-ratelimit-reset": "3600" }, undefined],
    [{
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-reset-after-seconds": "13873",
      "x-codex-secondary-used-percent": "80",
      "x-codex-secondary-reset-after-seconds": "316705",
    }, 13_873_000],
  ];
  for (const [headers, wait] of cases) {
    assertEquals(waits({ headers }), wait, JSON.stringify(headers));
  }
});

Deno.test("fields of the body name it", () => {
  const cases: [unknown, number | undefined][] = [
    [{
      error: {
        type: "usage_limit_reached",
        message: "The usage limit has been reached",
        plan_type: "plus",
        resets_at: AT + 13_872,
        resets_in_seconds: 13_872,
      },
    }, 13_872_000],
    [{ error: { type: "usage_limit_reached", resets_at: AT + 3600 } }, HOUR],
    [{
      error: {
        message: "Rate limit exceeded: free-models-per-day",
        code: 429,
        metadata: {
          headers: {
            "X-RateLimit-Limit": "50",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": `${NOW + 10 * HOUR}`,
          },
        },
      },
    }, 10 * HOUR],
    [google("43200s"), 12 * HOUR],
    [google("33s", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), 33_000],
    // Until midnight in Los Angeles.
    [google("33s", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"), 18 * HOUR],
    [google(undefined, "GenerateRequestsPerDayPerProjectPerModel"), 18 * HOUR],
    // Google's wire format for OpenAI's clients, and gateways, put it into a string.
    [{ error: { message: JSON.stringify(google("7200s")), code: 429 } }, 2 * HOUR],
    [{
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        details: [{
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "QUOTA_EXHAUSTED",
          metadata: { quotaResetDelay: "17h39m30.5s" },
        }],
      },
    }, 17 * HOUR + 39 * 60_000 + 30_500],
    [{ error: { message: "slow down", resets_at: "later" } }, undefined],
    ["no JSON", undefined],
    [null, undefined],
  ];
  for (const [sent, wait] of cases) assertEquals(waits({ sent }), wait, JSON.stringify(sent));
});

function google(delay?: string, quota?: string) {
  const details: unknown[] = [];
  if (quota !== undefined) {
    details.push({
      "@type": "type.googleapis.com/google.rpc.QuotaFailure",
      violations: [{ quotaMetric: "m", quotaId: quota, quotaDimensions: { location: "global" } }],
    });
  }
  if (delay !== undefined) {
    details.push({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: delay });
  }
  return { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "quota", details } };
}

Deno.test("words name it", () => {
  const cases: [string, number | undefined][] = [
    [
      "Rate limit reached for gpt-5 in organization org-1 on requests per day (RPD): Limit 200, " +
      "Used 200, Requested 1. Please try again in 1h2m3s. Visit https://platform.openai.com",
      HOUR + 2 * 60_000 + 3_000,
    ],
    ["Limit 30000, Used 29000, Requested 4000. Please try again in 6ms. Visit", 6],
    ["on tokens per day (TPD): Limit 100000. Please try again in 9m38.016s. Need more", 578_016],
    ["Please try again in 7m12s.", 432_000],
    ["* Quota exceeded, limit: 5, model: gemini\nPlease retry in 25.465784708s.", 25_466],
    ["Your quota will reset after 17h39m30s.", 17 * HOUR + 39 * 60_000 + 30_000],
    [
      "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try " +
      "again in 5 days 22 hours 11 minutes.",
      142 * HOUR + 11 * 60_000,
    ],
    ["Rate limited, please wait 30 seconds", 30_000],
    ["Claude AI usage limit reached|" + (AT + 3600), HOUR],
    ["You've hit your limit · resets 7pm (America/Los_Angeles)", 13 * HOUR],
    ["You're out of extra usage · resets 11:30pm (Asia/Colombo)", 4 * HOUR],
    ["You've hit your limit · resets Nov 28, 11:30am (Asia/Calcutta)", 40 * HOUR],
    ["Your limit will reset at 9am (America/Chicago).", HOUR],
    ["usage limit until 15:00 UTC", HOUR],
    ["Your limit will reset at 2026-11-26 18:00:00", 4 * HOUR],
    ["Your limit will reset at 2026-11-26T18:00:00.5+01:00", 3 * HOUR],
    [
      "You have reached your specified API usage limits. You will regain access on 2026-12-01 at " +
      "00:00 UTC.",
      106 * HOUR,
    ],
    // Passed a moment ago: the limit is about to end.
    ["Your limit will reset at 8am (America/New_York).", undefined],
    ["Your limit will reset at 3am (Europe/London).", 13 * HOUR],
    ["resets 25:99 (Nowhere/Nothing)", undefined],
    ["This request would exceed your account's rate limit. Please try again later.", undefined],
    ["Limit 200 requests per 1 day", undefined],
    ["Number of requests has exceeded 5 in 60 seconds", undefined],
  ];
  for (const [message, wait] of cases) assertEquals(waits({ message }), wait, message);
});

Deno.test("the longest counts, and times are by the provider's clock", () => {
  assertEquals(
    waits({
      headers: { "retry-after": "1" },
      sent: { error: { type: "usage_limit_reached", resets_in_seconds: 7200 } },
    }),
    2 * HOUR,
  );
  // This machine is a day late.
  const headers = { date: new Date(NOW).toUTCString() };
  const late = NOW - 24 * HOUR;
  assertEquals(waits({ headers, sent: { resets_at: AT + 3600 } }, late), HOUR);
  const date = new Date(NOW + HOUR).toUTCString();
  assertEquals(waits({ headers: { ...headers, "retry-after": date } }, late), HOUR);
});

Deno.test("an account without credit, and a model without a quota, do not come back", () => {
  const openai = {
    error: {
      message: "You exceeded your current quota, please check your plan and billing details.",
      type: "insufficient_quota",
      param: null,
      code: "insufficient_quota",
    },
  };
  const message = "* Quota exceeded for metric: free_tier_requests, limit: 0, model: gemini-3-pro";
  assertEquals(neverEnds({ sent: openai, message: openai.error.message }), true);
  assertEquals(neverEnds({ sent: { error: { code: "rate_limit_exceeded" } }, message: "" }), false);
  assertEquals(neverEnds({ sent: {}, message }), true);
  assertEquals(neverEnds({ sent: {}, message: `${message}\n${message}: limit: 50` }), false);
});

Deno.test("absurd answers neither throw nor take long", () => {
  const odd = ["-5", "NaN", "1e400", "Thu, 01 Jan 1970 00:00:00 GMT", "9".repeat(1_000_000)];
  const begun = performance.now();
  for (const value of odd) {
    for (const name of ["retry-after", "retry-after-ms", "x-ratelimit-reset", "date"]) {
      const wait = waits({ headers: { [name]: value } });
      assert(wait === undefined || wait >= 0, `${name}: ${value.slice(0, 40)}: ${wait}`);
    }
    for (const name of ["retry_after", "resets_at", "retryDelay", "quotaId", "code"]) {
      const sent = { error: { [name]: value } };
      const wait = waits({ sent });
      assert(wait === undefined || wait >= 0, `${name}: ${value.slice(0, 40)}: ${wait}`);
      neverEnds({ sent, message: "" });
    }
  }
  const no_text = { toString: 1, valueOf: 1 };
  const sent = { retry_after: no_text, resets_at: no_text, retryDelay: no_text, code: no_text };
  assertEquals([waits({ sent }), neverEnds({ sent, message: "" })], [undefined, false]);
  assertEquals(waits({ sent: Array(200_000).fill({ retry_after: 60 }) }), 60_000);
  for (const words of ["9", "1h", "wait 1 d ", "resets at on ", "try again in 1 s, "]) {
    waits({ message: `try again in ${words.repeat(1_000_000)}` });
  }
  for (const message of ["Try again at 99:99", "resets Feb 31 at 5pm (Not/Azone)"]) {
    waits({ message });
  }
  assert(performance.now() - begun < 5_000, `${performance.now() - begun} ms`);
});

Deno.test("a usage limit is one, whatever its status", () => {
  assertEquals(namesUsageLimit("You have reached your specified API usage limits."), true);
  assertEquals(namesUsageLimit("usage_limit_reached"), true);
  assertEquals(namesUsageLimit("the limit of output tokens"), false);
});
