// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/tool/model_commands.h"

#include <string>
#include <vector>

#include "apps/common/run_options.h"
#include "apps/cornu/tool/command_line.h"
#include "apps/cornu/tool/formats.h"
#include "apps/cornu/usage.h"

namespace apps {
namespace {

constexpr const char* kInputs =
    R"(Inputs: FILE is an array (x.npy), one array of an archive (data.npz:x_train, or data.npz where it
is clear which), an image (.png, .jpg, .gif, .bmp), or a directory of images, in the order of their
names. A model with several inputs takes an archive with arrays of their names, or --x for each: --x
left=a.npy --x right=b.npy. Images are resized to the model's input, and have values of 0 to 255
unless --preprocess says otherwise.)";

CLI::App& add_command(CLI::App& tool, const char* name, const char* about, const std::string& usage,
                      const std::string& more) {
  CLI::App* command = tool.add_subcommand(name, about);
  set_usage(*command, fmt::format("cornu {} {}", name, usage));
  command->footer(more);
  return *command;
}

void add_model(CLI::App& command, std::string& model) {
  command
      .add_option(
          "model", model,
          "A model that Keras or Cornu has saved (.keras, .h5), or its .json, which has no weights")
      ->required()
      ->type_name("FILE");
}

CLI::Option* add_files(CLI::App& command, const std::string& names, std::vector<std::string>& files,
                       const std::string& about) {
  return command.add_option(names, files, about)->type_name("FILE")->allow_extra_args(false);
}

void add_batch_size(CLI::App& command, int64_t& batch_size) {
  command.add_option("--batch-size", batch_size, "Examples at a time")
      ->check(at_least(1))
      ->capture_default_str();
}

void add_picture_options(CLI::App& command, PictureArguments& pictures) {
  command.add_option("--interpolation", pictures.interpolation, "How images are resized")
      ->check(CLI::IsMember({"nearest", "bilinear", "bicubic", "lanczos", "box", "hamming"}))
      ->capture_default_str();
  command
      .add_option("--preprocess", pictures.preprocess,
                  "How pixel values are scaled, as keras.applications' families do: tf to -1 to 1, "
                  "torch and caffe by ImageNet's means")
      ->check(CLI::IsMember({"none", "tf", "torch", "caffe"}))
      ->capture_default_str();
}

void add_summary(CLI::App& tool, SummaryArguments& arguments) {
  CLI::App& command =
      add_command(tool, "summary", "Prints the table of a model's layers", "MODEL [OPTIONS]",
                  "Example:\n  cornu summary m.keras --expand-nested");
  add_model(command, arguments.model);
  command.add_flag("--expand-nested", arguments.expand_nested, "The layers of nested models, too");
  command.add_flag("--show-trainable", arguments.show_trainable, "Which layers are trained");
  command
      .add_option("--line-length", arguments.line_length,
                  "Characters in a line (default: the terminal's width)")
      ->check(CLI::Range(1, 100'000));
}

void add_predict(CLI::App& tool, PredictArguments& arguments) {
  CLI::App& command =
      add_command(tool, "predict", "Predicts with a model",
                  "MODEL --input FILE [--output FILE] [OPTIONS]", std::string(kInputs) + R"(

Output: an array (.npy), an archive of one array for each output (.npz), or a line for each example
(.csv), which is also what goes to standard output where no file is given.

Examples:
  cornu predict m.keras --input x.npy --output y.npy
  cornu predict mobilenet.keras --input photos --preprocess tf --top 3
  cornu predict flowers.keras --input photo.jpg --top 1 --classes flowers.txt)");
  add_model(command, arguments.model);
  add_files(command, "-i,--input,--x", arguments.x, "Inputs (see below)")->required();
  command.add_option("-o,--output", arguments.output, "Write the predictions to this file")
      ->type_name("FILE")
      ->check(output_file({".npy", ".npz", ".csv"}));
  add_batch_size(command, arguments.batch_size);
  add_picture_options(command, arguments.pictures);
  command
      .add_option("--top", arguments.top,
                  "Print the names and scores of this many most likely classes of each example")
      ->check(at_least(1));
  command
      .add_option("--classes", arguments.classes,
                  "With --top: a file with the classes' names, one a line (default: ImageNet's)")
      ->type_name("FILE")
      ->needs("--top");
}

void add_evaluate(CLI::App& tool, EvaluateArguments& arguments) {
  CLI::App& command = add_command(tool, "evaluate", "Prints a model's loss and metrics on examples",
                                  "MODEL --x FILE [--y FILE] [OPTIONS]", std::string(kInputs) + R"(

Targets: arrays. They can be omitted if --x is a directory with a subdirectory of images for each
class: classes are numbered from 0, in the order of their names.

Examples:
  cornu evaluate m.keras --x x_test.npy --y y_test.npy
  cornu evaluate m.keras --x mnist.npz:x_test --y mnist.npz:y_test --json)");
  add_model(command, arguments.model);
  add_files(command, "--x", arguments.x, "Inputs (see below)")->required();
  add_files(command, "--y", arguments.y, "Targets");
  add_batch_size(command, arguments.batch_size);
  add_picture_options(command, arguments.pictures);
  command.add_flag("--json", arguments.json, "Print the results as JSON");
  command.add_option("--verbose", arguments.verbose, "0 results alone, 1 a progress bar, too")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
}

void add_fit_data(CLI::App& command, FitArguments& arguments) {
  add_model(command, arguments.model);
  add_files(command, "--x", arguments.x, "Inputs (see below)")->required();
  add_files(command, "--y", arguments.y, "Targets");
  command
      .add_option("--validation-split", arguments.validation_split,
                  "The part of the examples, the last ones, to validate with: 0.2")
      ->check(CLI::Validator(check_part, ""));
  CLI::Option* validation_x =
      add_files(command, "--validation-x", arguments.validation_x, "Inputs to validate with");
  CLI::Option* validation_y =
      add_files(command, "--validation-y", arguments.validation_y, "and their targets");
  validation_y->needs(validation_x);
  validation_x->excludes("--validation-split");
  command
      .add_option("--shuffle", arguments.shuffle, "Whether examples are shuffled before each epoch")
      ->type_name("BOOL")
      ->capture_default_str();
  add_picture_options(command, arguments.pictures);
}

void add_fit(CLI::App& tool, FitArguments& arguments) {
  CLI::App& command =
      add_command(tool, "fit", "Trains a model", "MODEL --x FILE --y FILE --output FILE [OPTIONS]",
                  std::string(kInputs) + R"(

The model is compiled as its file says. --optimizer, --loss and --metrics replace what it says; a
model that was saved without that needs the first two. A new optimizer begins without a state.

With --checkpoint-dir, a run that is ended by Ctrl-C, SIGTERM, SIGKILL or a power cut resumes when it
is restarted with the same command line, and gives bitwise the same result as an uninterrupted run.

Examples:
  cornu fit m.keras --x x.npy --y y.npy --epochs 5 --output trained.keras
  cornu fit m.keras --x data.npz:x --y data.npz:y --validation-split 0.1 --optimizer adam
      --learning-rate 1e-3 --loss sparse_categorical_crossentropy --metrics accuracy
      --checkpoint-dir state --output trained.keras
  cornu launch -n 2 -- cornu fit m.keras --x x.npy --y y.npy --strategy multi_worker
      --replicas 1 --output trained.keras)");
  add_fit_data(command, arguments);
  command.add_option("-o,--output", arguments.output, "Write the trained model to this file")
      ->type_name("FILE")
      ->required()
      ->check(output_file({".keras", ".h5", ".hdf5", ".weights.h5"}));
  command.add_option("--optimizer", arguments.optimizer, "Its name in Keras: adam, sgd, …")
      ->type_name("NAME");
  command
      .add_option("--learning-rate", arguments.learning_rate,
                  "The optimizer's learning rate; replaces a schedule")
      ->type_name("RATE")
      ->check(CLI::Validator(check_positive, ""));
  command.add_option("--loss", arguments.loss, "Its name in Keras: mse, …")->type_name("NAME");
  command.add_option("--metrics", arguments.metrics, "Their names in Keras: accuracy, mae, …")
      ->type_name("NAME,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_training_options(command, arguments);
  command
      .add_option("--tensorboard", arguments.tensorboard,
                  "Record the training in this directory, for TensorBoard")
      ->type_name("DIR");
  command
      .add_option("--profile-batch", arguments.profile_batch,
                  "With --tensorboard: profile this batch, counted from 1, or from one to another: "
                  "10,20")
      ->type_name("N[,N]")
      ->delimiter(',')
      ->expected(1, 2)
      ->allow_extra_args(false)
      ->check(at_least(1))
      ->needs("--tensorboard");
}

std::string formats_text() {
  std::string text;
  for (const FormatRow& row : kFormats) {
    text += fmt::format("  {:<12} {} ({})\n", row.ending, row.about,
                        row.reads ? "read and written" : "written");
  }
  return text;
}

void add_convert(CLI::App& tool, ConvertArguments& arguments) {
  CLI::App& command =
      add_command(tool, "convert", "Writes a model in another format", "INPUT OUTPUT [OPTIONS]",
                  "Formats, by the ends of the files' names:\n" + formats_text() + R"(
Examples:
  cornu convert old.h5 new.keras
  cornu convert m.keras m.h5
  cornu convert m.keras m.weights.h5
  cornu convert m.keras m.onnx
  cornu convert resnet.onnx resnet.keras
  cornu convert m.json m.keras --weights m.weights.h5)");
  command.add_option("input", arguments.input, "The model")->required()->type_name("FILE");
  command.add_option("output", arguments.output, "What to write")
      ->required()
      ->type_name("FILE")
      ->check(output_file(endings()));
  command
      .add_option("--weights", arguments.weights,
                  "Put the weights of this file into the model first (.weights.h5, .keras, .h5)")
      ->type_name("FILE");
  command.add_flag("!--no-compile", arguments.compile,
                   "Omit the compile arguments and the optimizer's state");
}

void add_plot(CLI::App& tool, PlotArguments& arguments) {
  CLI::App& command = add_command(
      tool, "plot", "Draws a model's layers", "MODEL --output FILE [OPTIONS]",
      R"(A file that ends in .dot or .gv is text for Graphviz; .svg, .png and .pdf are drawn by Graphviz's
program dot, which has to be installed.

Example:
  cornu plot m.keras --output m.svg --show-shapes --expand-nested)");
  add_model(command, arguments.model);
  command.add_option("-o,--output", arguments.output, "What to write")
      ->type_name("FILE")
      ->required()
      ->check(output_file({".dot", ".gv", ".svg", ".png", ".pdf"}));
  command.add_flag("--show-shapes", arguments.show_shapes, "Shapes of inputs and outputs");
  command.add_flag("--show-dtype", arguments.show_dtype, "Dtypes of outputs");
  command.add_flag("!--hide-layer-names", arguments.show_layer_names, "Classes alone");
  command.add_flag("--show-layer-activations", arguments.show_layer_activations,
                   "Activations of layers that have one");
  command.add_flag("--show-trainable", arguments.show_trainable, "Which layers are trained");
  command.add_flag("--expand-nested", arguments.expand_nested, "The layers of nested models");
  command.add_option("--rankdir", arguments.rankdir, "From top to bottom, or left to right, …")
      ->check(CLI::IsMember({"TB", "BT", "LR", "RL"}))
      ->capture_default_str();
  command.add_option("--dpi", arguments.dpi, "Dots an inch")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
}

void add_profile(CLI::App& tool, ProfileArguments& arguments) {
  CLI::App& command =
      add_command(tool, "profile", "Measures the instructions of a model's compiled step",
                  "MODEL [OPTIONS]", std::string(kInputs) + R"(

Without --input the step gets random numbers of the model's input shapes. With --y it is a training
step, else a prediction; the model isn't changed. The first --batch-size examples are taken.

Examples:
  cornu profile m.keras --batch-size 1
  cornu profile m.keras --input x.npy --y y.npy --trace step.trace.json.gz)");
  add_model(command, arguments.model);
  add_files(command, "-i,--input,--x", arguments.x, "Inputs (see below)");
  add_files(command, "--y", arguments.y, "Targets: measure a training step")->needs("--input");
  add_batch_size(command, arguments.batch_size);
  command.add_option("--runs", arguments.runs, "Steps that are measured")
      ->check(at_least(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--most", arguments.most, "Instructions in the table, the longest first")
      ->check(at_least(1))
      ->capture_default_str();
  command
      .add_option("--trace", arguments.trace,
                  "Write a timeline of the last step, for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE")
      ->check(output_file({".json", ".json.gz"}));
  command.add_flag("--json", arguments.json, "Print everything as JSON");
  add_picture_options(command, arguments.pictures);
}

void add_devices(CLI::App& tool, DevicesArguments& arguments) {
  CLI::App& command =
      add_command(tool, "devices", "Lists this machine's devices and the libraries in use",
                  "[OPTIONS]", "Example:\n  cornu devices --json");
  command.add_flag("--json", arguments.json, "Print it as JSON");
}

}  // namespace

void add_model_commands(CLI::App& tool, Arguments& arguments) {
  add_summary(tool, arguments.summary);
  add_predict(tool, arguments.predict);
  add_evaluate(tool, arguments.evaluate);
  add_fit(tool, arguments.fit);
  add_convert(tool, arguments.convert);
  add_plot(tool, arguments.plot);
  add_profile(tool, arguments.profile);
  add_devices(tool, arguments.devices);
}

}  // namespace apps
