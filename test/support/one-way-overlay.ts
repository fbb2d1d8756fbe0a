import { OverlayStrategy } from "../../src/strategies/overlay/overlay.ts";

/** `overlay`, mounted in no way but the given ones, registered beside the built-in one. */
export class OneWayOverlay extends OverlayStrategy {
  override readonly name = "overlay_in_one_way";
}
