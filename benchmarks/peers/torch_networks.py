# SPDX-License-Identifier: Apache-2.0
"""Networks of keras.applications in PyTorch."""
import torch
from torch import nn


def normalized(convolution, epsilon=1e-3, momentum=0.001):
    return [convolution, nn.BatchNorm2d(convolution.out_channels, epsilon, momentum)]


class Residual(nn.Module):
    """x, or a shortcut from it, plus the body's output."""

    def __init__(self, body, shortcut=(), last=None):
        super().__init__()
        self.body, self.shortcut = nn.Sequential(*body), nn.Sequential(*shortcut)
        self.last = last or nn.Identity()

    def forward(self, x):
        return self.last(self.shortcut(x) + self.body(x))


def mobilenet_v2(classes=10):
    """keras.applications.MobileNetV2, alpha 1."""

    def conv(inputs, outputs, kernel=1, stride=1, groups=1, active=True):
        layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        return normalized(layer) + ([nn.ReLU6(inplace=True)] if active else [])

    blocks = [(16, 1, 1), (24, 2, 6), (24, 1, 6), (32, 2, 6)] + [(32, 1, 6)] * 2 + [(64, 2, 6)]
    blocks += [(64, 1, 6)] * 3 + [(96, 1, 6)] * 3 + [(160, 2, 6)] + [(160, 1, 6)] * 2
    layers, channels = conv(3, 32, 3, 2), 32
    for filters, stride, expansion in blocks + [(320, 1, 6)]:
        inner = expansion * channels
        body = conv(channels, inner) if expansion > 1 else []
        body += conv(inner, inner, 3, stride, inner) + conv(inner, filters, active=False)
        layers += [Residual(body)] if stride == 1 and channels == filters else body
        channels = filters
    return nn.Sequential(*layers, *conv(320, 1280), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(1280, classes))


def resnet(blocks=(3, 4, 6, 3), classes=10):
    """keras.applications.ResNet50, or a variant with other numbers of blocks: convolutions have
    biases, and the first of a block has the strides."""

    def conv(inputs, outputs, kernel=1, stride=1, active=True):
        layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2)
        return normalized(layer, 1.001e-5, 0.01) + ([nn.ReLU(inplace=True)] if active else [])

    layers, channels = conv(3, 64, 7, 2) + [nn.MaxPool2d(3, 2, 1)], 64
    for filters, count in zip((64, 128, 256, 512), blocks):
        for block in range(count):
            step = 2 if block == 0 and filters > 64 else 1
            body = conv(channels, filters, 1, step) + conv(filters, filters, 3)
            body += conv(filters, 4 * filters, active=False)
            shortcut = conv(channels, 4 * filters, 1, step, False) if block == 0 else ()
            layers.append(Residual(body, shortcut, nn.ReLU(inplace=True)))
            channels = 4 * filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


class Rescaled(nn.Module):
    def __init__(self, scale, offset):
        super().__init__()
        self.scale, self.offset = scale, offset

    def forward(self, x):
        return x * self.scale + self.offset


class DropPath(nn.Module):
    """Drops whole examples."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0:
            return x
        keep = torch.empty(x.shape[0], 1, 1, 1).bernoulli_(1 - self.rate)
        return x * keep.div_(1 - self.rate)


class Excited(nn.Module):
    """Squeeze and excitation: x, each channel scaled by a function of all channels' means."""

    def __init__(self, channels, inner):
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), nn.SiLU(inplace=True),
            nn.Conv2d(inner, channels, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.gate(x)


class Dense(nn.Module):
    """x, with the body's output concatenated along its channels."""

    def __init__(self, body):
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x):
        return torch.cat((x, self.body(x)), 1)


def densenet121(classes=10):
    """keras.applications.DenseNet121, with a growth rate of 32."""

    def active(channels):
        return [nn.BatchNorm2d(channels, 1.001e-5, 0.01), nn.ReLU(inplace=True)]

    def conv(inputs, outputs, kernel=1, stride=1):
        return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)

    layers, channels = [conv(3, 64, 7, 2), *active(64), nn.MaxPool2d(3, 2, 1)], 64
    for blocks in (6, 12, 24, 16):
        if len(layers) > 4:
            layers += active(channels) + [conv(channels, channels // 2), nn.AvgPool2d(2)]
            channels //= 2
        for _ in range(blocks):
            layers.append(Dense([*active(channels), conv(channels, 128), *active(128),
                                 conv(128, 32, 3)]))
            channels += 32
    return nn.Sequential(*layers, *active(channels), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, classes))


def efficient_conv(inputs, outputs, kernel=1, stride=1, groups=1, active=True, momentum=0.1):
    layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return normalized(layer, 1e-3, momentum) + ([nn.SiLU(inplace=True)] if active else [])


def efficientnet_b0(classes=10):
    """keras.applications.EfficientNetB0, for pictures that are already normalized."""

    def conv(*sizes, **options):
        return efficient_conv(*sizes, momentum=0.01, **options)

    # kernel, filters, blocks, stride, expansion
    stages = ((3, 16, 1, 1, 1), (3, 24, 2, 2, 6), (5, 40, 2, 2, 6), (3, 80, 3, 2, 6),
              (5, 112, 3, 1, 6), (5, 192, 4, 2, 6), (3, 320, 1, 1, 6))
    count, made = sum(stage[2] for stage in stages), 0
    layers, channels = [Rescaled(1 / 255, 0)] + conv(3, 32, 3, 2), 32
    for kernel, filters, blocks, stride, expansion in stages:
        for block in range(blocks):
            step, inner = stride if block == 0 else 1, expansion * channels
            body = conv(channels, inner) if expansion > 1 else []
            body += conv(inner, inner, kernel, step, inner)
            body += [Excited(inner, channels // 4)] + conv(inner, filters, active=False)
            same = step == 1 and channels == filters
            layers += [Residual(body + [DropPath(0.2 * made / count)])] if same else body
            channels, made = filters, made + 1
    return nn.Sequential(*layers, *conv(320, 1280), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Dropout(0.2), nn.Linear(1280, classes))


def efficientnet_v2_m(classes=1000):
    """keras.applications.EfficientNetV2M."""
    conv = efficient_conv
    # filters, blocks, stride, expansion, whether a convolution replaces the depthwise one
    stages = ((24, 3, 1, 1, True), (48, 5, 2, 4, True), (80, 5, 2, 4, True), (160, 7, 2, 4, False),
              (176, 14, 1, 6, False), (304, 18, 2, 6, False), (512, 5, 1, 6, False))
    count, made = sum(stage[1] for stage in stages), 0
    layers, channels = [Rescaled(1 / 128, -1)] + conv(3, 24, 3, 2), 24
    for filters, blocks, stride, expansion, fused in stages:
        for block in range(blocks):
            step, inner = stride if block == 0 else 1, expansion * channels
            if not fused:
                body = conv(channels, inner) + conv(inner, inner, 3, step, inner)
                body += [Excited(inner, channels // 4)] + conv(inner, filters, active=False)
            elif expansion == 1:
                body = conv(channels, filters, 3, step)
            else:
                body = conv(channels, inner, 3, step) + conv(inner, filters, active=False)
            same = step == 1 and channels == filters
            layers += [Residual(body + [DropPath(0.2 * made / count)])] if same else body
            channels, made = filters, made + 1
    return nn.Sequential(*layers, *conv(512, 1280), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Dropout(0.2), nn.Linear(1280, classes))
