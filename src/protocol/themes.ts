/** Themes of terminals; `auto` asks for the background. */
export const THEMES = ["auto", "dark", "light", "terminal", "high-contrast", "none"] as const;

export type ThemeName = typeof THEMES[number];
