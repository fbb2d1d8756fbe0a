import { computed, effect, signal } from "@preact/signals";

/** How this browser likes the page to look. Nothing of a review is kept here. */
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(kept("theme", THEMES));
const layout = signal<"split" | "unified">(kept("layout", ["split", "unified"] as const));

/** On a narrow screen two columns would have no room. */
const narrow = matchMedia("(max-width: 720px)");
const isNarrow = signal(narrow.matches);
export const isSideBySide = computed(() => layout.value === "split" && !isNarrow.value);

export function followSettings(): void {
  narrow.addEventListener("change", () => {
    isNarrow.value = narrow.matches;
  });
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    localStorage.setItem("theme", theme.value);
    localStorage.setItem("layout", layout.value);
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}

export function switchLayout(): void {
  layout.value = layout.value === "split" ? "unified" : "split";
}

function kept<T extends string>(name: string, values: readonly [T, ...T[]]): T {
  return values.find((value) => value === localStorage.getItem(name)) ?? values[0];
}
