/** What a call gave, or why it failed, to be read and copied. */
export function ResultText({ ok, text }: { ok: boolean; text: string }) {
  return (
    <pre
      class={ok ? "result" : "result failed"}
      role={ok ? "status" : "alert"}
      tabIndex={0}
      aria-label={ok ? "Result" : "Error"}
    >{text}</pre>
  );
}
