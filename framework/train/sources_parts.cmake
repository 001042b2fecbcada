# Losses, metrics and the optimizer base.
set(cornu_train_parts
    loss.cc
    metric.cc
    optimizer.cc
    losses/crossentropy.cc
    losses/hinge.cc
    losses/operands.cc
    losses/overlap.cc
    losses/regression.cc
    metrics/accuracy.cc
    metrics/auc.cc
    metrics/confusion.cc
    metrics/of_losses.cc
    metrics/reduction.cc)
