/* What the canvases share: size in device pixels, colours of the theme, the hatch. */

/* The context, scaled so that one unit is a CSS pixel, with the canvas cleared: { ctx, width, height }. */
export function prepare(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const ctx = canvas.getContext('2d');
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.font = '11px system-ui, sans-serif';
  return { ctx, width, height };
}

/* Colours by use, read from the legend, which the style sheet colours. */
export function colours(root = document.getElementById('timeline')) {
  const of = (key) => getComputedStyle(root.querySelector(`.legend [data-outcome="${key}"]`)).color;
  const { color, borderTopColor } = getComputedStyle(root);
  return { allowed: of('allowed'), denied: of('denied'), text: color, muted: getComputedStyle(root.querySelector('.help')).color, line: borderTopColor };
}

const fills = new Map();

/* Stripes at 45 degrees, or dots, as a fill. */
export function hatch(ctx, colour, dots = false) {
  const name = colour + dots;
  if (!fills.has(name)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = dots ? 4 : 6;
    const pen = tile.getContext('2d');
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = 2.6;
    if (dots) pen.arc(2, 2, 1.3, 0, 7);
    else for (const x of [-6, 0, 6]) {
      pen.moveTo(x - 1, 7);
      pen.lineTo(x + 7, -1);
    }
    if (dots) pen.fill();
    else pen.stroke();
    fills.set(name, ctx.createPattern(tile, 'repeat'));
  }
  return fills.get(name);
}
