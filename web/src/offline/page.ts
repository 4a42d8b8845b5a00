/** The page that the service worker shows without a daemon: it opens the app once one answers. */

/** How often it looks, in milliseconds. */
const LOOK_MS = 2_000;

async function look(): Promise<void> {
  try {
    // Any answer will do: the daemon decides what to do with the page that is asked for then.
    await fetch("/", { method: "HEAD", cache: "no-store" });
    location.reload();
  } catch {
    setTimeout(look, LOOK_MS);
  }
}

setTimeout(look, LOOK_MS);
addEventListener("online", () => void look());
document.getElementById("retry")!.addEventListener("click", () => location.reload());
