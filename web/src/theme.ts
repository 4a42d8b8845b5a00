/** The person's choice of theme; without one the system's is followed. */

export const THEMES = ["system", "light", "dark", "contrast"] as const;
export type Theme = typeof THEMES[number];

const KEY = "svc.theme";

/** The theme that was chosen. Storage may be closed to the page: then there is no choice. */
export function chosenTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === stored) ?? "system";
  } catch {
    return "system";
  }
}

/** Applies a theme to the page. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

/** Applies a theme and keeps it. */
export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It lasts until the page is closed.
  }
}
